"""``/``: is it all right, and what needs me?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from dashboard import drains, sentences
from dashboard.access import page
from dashboard.selectors import snapshots
from dashboard.views.history import charts
from dashboard.views.sharing import shared
from dashboard.views.shell import show

ROWS = 50


@page
@shared
def overview(request: HttpRequest) -> HttpResponse:
    """Tiles, queues by oldest age, and what needs a person, all from the shared snapshot."""
    state = snapshots.current()
    context: dict[str, Any] = {
        "state": state,
        "rows": state.queues[:ROWS],
        "more": max(0, len(state.queues) - ROWS),
        "oldest": next((row for row in state.queues if row.oldest_age is not None), None),
        "tiles": drains.Tiles(state),
        "needs": [sentences.need(item) for item in state.needs[:12]],
    }
    context |= charts(request.GET, state.now, None, ("pace",), default="6h")
    return show(request, "overview", context, every=2)
