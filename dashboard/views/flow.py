"""``/flow/``: is more finished than arrives?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import functions, snapshots
from dashboard.selectors.flow import flow as read
from dashboard.views.sharing import shared
from dashboard.views.shell import number, show


@page
@shared
def flow(request: HttpRequest) -> HttpResponse:
    """Small multiples choose the queue; none chosen shows the sum of all. Below, its functions in one window."""
    state = snapshots.current()
    name, minutes = request.GET.get("queue"), number(request.GET.get("minutes"))
    minutes = minutes if minutes in functions.WINDOWS else functions.WINDOWS[0]
    search = request.GET.get("function", "").strip()[:200]
    context = {
        "state": state,
        "flow": read(state, name),
        "name": name,
        "functions": functions.recent(name, search, minutes),
        "windows": functions.WINDOWS,
        "search": search,
        "unknown": (None, None),
    }
    return show(request, "flow", context, every=10)
