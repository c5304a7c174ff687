"""``/flow/``: is more finished than arrives?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import functions, snapshots
from dashboard.selectors.flow import flow as read
from dashboard.views.history import charts
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
    context: dict[str, Any] = {
        "state": state,
        "flow": read(state, name),
        "name": name,
        "functions": functions.recent(name, search, minutes),
        "windows": functions.WINDOWS,
        "search": search,
        "unknown": (None, None),
    }
    if name is None or context["flow"].chosen:
        max_age = context["flow"].chosen.max_age if context["flow"].chosen else None
        context |= charts(request.GET, state.now, name, max_age=max_age)
    return show(request, "flow", context, every=10)


@page
@shared
def function_page(request: HttpRequest) -> HttpResponse:
    """``/flow/function/?queue=&name=``: one function on one queue, lately and over time."""
    state = snapshots.current()
    queue, name = request.GET.get("queue", ""), request.GET.get("name", "")
    groups = functions.recent(queue, name, functions.WINDOWS[-1]).groups
    line = next((line for group in groups for line in group.lines if line.name == name), None)
    context = {"state": state, "queue": queue, "name": name, "line": line, "window": functions.WINDOWS[-1]}
    context |= charts(request.GET, state.now, queue, function=name)
    known = line is not None or any(any(track.values) for chart in context["charts"] for track in chart.tracks)
    return show(request, "function", {**context, "found": known}, every=10, status=200 if known else 404)
