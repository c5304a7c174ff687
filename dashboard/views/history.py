"""The charts of a page over a period that its address names, and the same numbers as a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _

from dashboard import exports, timelines
from dashboard.access import page
from dashboard.selectors import snapshots
from dashboard.selectors.history import DEFAULT, PERIODS, history
from dashboard.selectors.marks import marks
from dashboard.timelines import PERCENTILES, Chart

ALL = ("pace", "became", "waiting", "oldest", "times")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address says; anything else than what is offered is the default."""

    period: str
    percent: int


def asked(query: QueryDict, default: str = DEFAULT) -> Asked:
    period, percent = query.get("period", ""), query.get("percentile", "")
    return Asked(
        period if period in PERIODS else default, int(percent) if percent in map(str, PERCENTILES) else PERCENTILES[1]
    )


def charts(
    query: QueryDict,
    now: int,
    queue: str | None,
    wanted: Iterable[str] = ALL,
    *,
    function: str | None = None,
    max_age: float | None = None,
    default: str = DEFAULT,
) -> dict[str, Any]:
    """The context of ``_partials/history.html``: three queries at most. ``now`` in µs by the clock of Redis."""
    chosen = asked(query, default)
    found = history(queue, chosen.period, now, function=function)
    seen = marks(queue, found.start, now // 1_000_000, function=function)
    made: list[Chart] = []
    for name in wanted:
        if name == "pace":
            made.append(timelines.pace(found, seen))
        elif name == "became":
            made.append(timelines.became(found, seen))
        elif name == "waiting" and function is None:
            made.append(timelines.waiting(found, seen))
        elif name == "oldest" and function is None:
            made.append(timelines.oldest(found, seen, max_age))
        elif name == "times" and queue is not None:
            made.append(timelines.times(found, seen, chosen.percent))
    words = {"1h": _("1 h"), "6h": _("6 h"), "24h": _("24 h"), "7d": _("7 days"), "90d": _("90 days")}
    return {
        "charts": made,
        "periods": [(name, words[name]) for name in PERIODS],
        "period": chosen.period,
        "percentiles": PERCENTILES,
        "percentile": chosen.percent,
        "has_times": any(chart.name == "times" for chart in made),
        "history_queue": queue,
        "history_function": function,
    }


@page
def export(request: HttpRequest) -> HttpResponse:
    """One chart as CSV: all its points, times in UTC."""
    queue, function = request.GET.get("queue"), request.GET.get("function") or None
    name = request.GET.get("chart", "pace")
    context = charts(
        request.GET, snapshots.current().at, queue, [name if name in ALL else "pace"],
        function=function if queue is not None else None,
    )  # fmt: skip
    made: list[Chart] = context["charts"]
    return exports.chart(made[0] if made else None)
