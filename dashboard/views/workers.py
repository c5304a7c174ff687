"""``/workers/``: who works, who waits, who went silent?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors.workers import ORDER, workers_page
from dashboard.views.sharing import shared
from dashboard.views.shell import show


@page
@shared
def workers(request: HttpRequest) -> HttpResponse:
    """All workers by state, silent ones first."""
    chosen = request.GET.get("state", "")
    found = workers_page(
        state=chosen,
        queue=request.GET.get("queue"),
        name=request.GET.get("name", ""),
        after=request.GET.get("after", ""),
    )
    tabs = [(state, found.total(state)) for state in ORDER]
    context = {"workers": found, "chosen": chosen, "tabs": tabs, "total": found.total("known"), "down": found.down}
    return show(request, "workers", context)
