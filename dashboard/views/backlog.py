"""``/backlog/``: what is open, where is it, and does it get less?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import lines, snapshots
from dashboard.selectors.snapshot_data import QueueRow
from dashboard.views.history import charts
from dashboard.views.sharing import shared
from dashboard.views.shell import show

PLACES = ("queued", "parked", "running", "scheduled", "deferred", "rate_limited", "intermediate")
"""Where open work can be, in the order of the columns."""
RARE = ("rate_limited", "intermediate")
"""Places that have a column only when something is there: plain RQ's own."""


@page
@shared
def backlog(request: HttpRequest) -> HttpResponse:
    """Every queue, largest backlog first, with its open work by place; below, what the parked jobs wait for."""
    state = snapshots.current()
    rows = sorted(state.queues, key=lambda row: (-_open(row), row.name))
    sums = [(place, sum(row.open.get(place, 0) for row in rows)) for place in PLACES]
    sums = [(place, n) for place, n in sums if n or place not in RARE]
    table = [(row, _open(row), [(place, row.open.get(place, 0)) for place, _ in sums]) for row in rows]
    context: dict[str, Any] = {
        "state": state,
        "table": table,
        "parked": lines.parked(),
        "sums": sums,
        "open": sum(map(_open, rows)),
        "failed": sum(row.failed for row in rows),
        "quarantined": sum(row.quarantined for row in rows),
    }
    context |= charts(request.GET, state.now, None, ("waiting", "oldest"))
    return show(request, "backlog", context)


def _open(row: QueueRow) -> int:
    return sum(row.open.get(place, 0) for place in PLACES)
