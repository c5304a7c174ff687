"""``/flow/``: is more finished than arrives?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import snapshots
from dashboard.selectors.flow import flow as read
from dashboard.views.shell import show


@page
def flow(request: HttpRequest) -> HttpResponse:
    """Small multiples choose the queue; none chosen shows the sum of all."""
    state = snapshots.current()
    name = request.GET.get("queue")
    return show(request, "flow", {"state": state, "flow": read(state, name), "name": name}, every=10)
