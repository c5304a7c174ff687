"""``/interventions/``: who changed what, when and why?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dashboard.access import page
from dashboard.selectors import batches
from dashboard.selectors import interventions as kept
from dashboard.views import times
from dashboard.views.sharing import shared
from dashboard.views.shell import show

STATES = ("applying", "in_force", "done", "failed")


@page
@shared
def interventions(request: HttpRequest) -> HttpResponse:
    """Newest first, 100 a page."""
    get = request.GET
    when = times.asked(get, int(timezone.now().timestamp() * 1e6))
    names = ("verb", "actor", "state", "target")
    wanted = kept.Filter(
        **{name: get.get(name, "").strip()[:200] for name in names},
        text=get.get("q", "").strip()[:200],
        start=when.start,
        end=when.end,
    )
    found = kept.page(wanted, after=get.get("after", ""))
    context = {
        "found": found,
        "wanted": wanted,
        "states": STATES,
        "spans": times.spans(),
        "times": when,
        "works": batches.current(),
    }
    return show(request, "interventions", context, every=0 if "after" in get else 3)
