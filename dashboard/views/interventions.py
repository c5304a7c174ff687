"""``/interventions/``: who changed what, when and why?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import batches
from dashboard.selectors import interventions as kept
from dashboard.views.shell import show

STATES = ("applying", "in_force", "done", "failed")


@page
def interventions(request: HttpRequest) -> HttpResponse:
    """Newest first, 100 a page."""
    get = request.GET
    names = ("verb", "actor", "state")
    wanted = kept.Filter(**{name: get.get(name, "") for name in names}, text=get.get("q", "").strip()[:200])
    found = kept.page(wanted, after=get.get("after", ""))
    context = {"found": found, "wanted": wanted, "states": STATES, "works": batches.current()}
    return show(request, "interventions", context, every=0 if "after" in request.GET else 3)
