"""What each function did lately, of all servers together; one reading serves all viewers for a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.selectors import store
from dashboard.selectors.flow import total
from dashboard.selectors.remembered import Remembered
from queueops.rdb.client import server_of, servers
from queueops.telemetry import functions
from queueops.telemetry.functions import FunctionStats
from queueops.telemetry.histograms import Histogram, merged

WINDOWS = (10, 60)
"""Minutes that the page offers."""

Spread = tuple[float | None, float | None]
Minutes = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Counts of one window, and median and 95th percentile of its times in seconds (None without a sample)."""

    name: str
    arrived: int
    completed: int
    failed_attempts: int
    retried: int
    parked: int
    waited: Spread
    ran: Spread
    busy: float
    """Seconds of all runs together."""
    by_minute: tuple[Minutes, Minutes]


@dataclass(frozen=True, slots=True)
class Group:
    """One queue with its functions, most active first; ``whole`` is None when some of them were not read."""

    server: str
    queue: str
    whole: Line | None
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Functions:
    """``minutes`` is the window of every number; ``matching`` functions were active in it, ``shown`` are here."""

    groups: tuple[Group, ...]
    matching: int
    shown: int
    minutes: int


_memory: Remembered[Functions] = Remembered()


def recent(queue: str | None, search: str, minutes: int) -> Functions:
    """The functions of one queue or all. One round trip a server, none when read a moment ago.

    A server that does not answer has no rows here: the shared snapshot shows its panel.
    """
    return _memory.get((queue, search, minutes), lambda: _read(queue, search, minutes))


def _read(queue: str | None, search: str, minutes: int) -> Functions:
    groups: list[Group] = []
    matching = shown = 0
    for server in servers() if queue is None else (server_of(queue),):
        try:
            with store.guard(server):
                page = functions.page(server, queue=queue, search=search, minutes=minutes)
        except store.StoreDown:
            continue
        complete = not search and page.matching == len(page.rows)
        names = dict.fromkeys(row.queue for row in page.rows)
        groups += [_group(server.alias, name, [r for r in page.rows if r.queue == name], complete) for name in names]
        matching, shown = matching + page.matching, shown + len(page.rows)
    groups.sort(key=lambda g: (-sum(line.arrived + line.completed for line in g.lines), g.queue, g.server))
    return Functions(tuple(groups), matching, shown, minutes)


def _group(server: str, queue: str, rows: list[FunctionStats], complete: bool) -> Group:
    lines = sorted((_line(row.function, [row]) for row in rows), key=lambda r: (-r.arrived - r.completed, r.name))
    return Group(server, queue, _line(queue, rows) if complete else None, tuple(lines))


def _line(name: str, rows: Iterable[FunctionStats]) -> Line:
    rows, counts = list(rows), Counter[str]()
    for row in rows:
        counts.update(row.counts)
    return Line(
        name=name,
        arrived=sum(row.arrived for row in rows),
        completed=counts["completed"],
        failed_attempts=counts["failed_attempt"],
        retried=counts["retried"],
        parked=counts["parked"],
        waited=_spread(merged(row.waited for row in rows)),
        ran=_spread(merged(row.ran for row in rows)),
        busy=sum(row.ran.sum_us for row in rows) / 1e6,
        by_minute=(total([row.inflow for row in rows]), total([row.completed for row in rows])),
    )


def _spread(times: Histogram) -> Spread:
    return times.percentile(50), times.percentile(95)
