"""``/interventions/``: who changed what, when and why?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import batches
from dashboard.selectors import interventions as kept
from dashboard.views.shell import show


@page
def interventions(request: HttpRequest) -> HttpResponse:
    """Newest first, 100 a page."""
    found = kept.page(after=request.GET.get("after", ""))
    context = {"found": found, "works": batches.current()}
    return show(request, "interventions", context, every=0 if "after" in request.GET else 3)
