"""What a queue, or a function of it, did over hours and days: from the roll-ups in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from queueops.models import Rollup
from queueops.telemetry.events import PLUS
from queueops.telemetry.histograms import Histogram
from queueops.telemetry.minutes import Tally

LEAST = 3
"""Buckets without which nothing is called usual."""
MOST = 2_200
"""Buckets that one call reads: 90 days of hours."""


@dataclass(frozen=True, slots=True)
class Point:
    """One bucket. ``oldest_age`` in seconds and ``waiting`` are those of its end (of an hour: the highest)."""

    start: int
    counts: Mapping[str, int]
    waited: Histogram
    ran: Histogram
    waiting: int | None = None
    oldest_age: float | None = None

    @property
    def inflow(self) -> int:
        return sum(self.counts.get(event, 0) for event in PLUS)

    @property
    def completed(self) -> int:
        return self.counts.get("completed", 0)


def points(
    server: str, queue: str, since: int, until: int, *, width: int = 60, function: str | None = None, times: bool = True
) -> list[Point | None]:
    """The buckets that begin from ``since`` to before ``until`` (epoch seconds), oldest first; None is a gap. One
    query. The queue ``""`` is all queues of the server together, which have no times. ``times=False`` leaves the times
    of a whole queue out, which are most of what is read.
    """
    first = -(-since // width) * width
    starts = range(first, until, width)[:MOST]
    if not starts:
        return []
    rows = Rollup.objects.filter(
        width=width, server=server, queue__in=("", queue), start__gte=starts[0], start__lte=starts[-1]
    )
    if not times and function is None:
        rows = rows.defer("functions")
    known: dict[int, Rollup] = {}
    found: dict[int, Rollup] = {}
    for row in rows:
        (found if row.queue else known)[row.start] = row
    if not queue:
        found = known
    wanted = times and bool(queue)
    return [
        _point(start, found.get(start), function, bool(known[start].gauges), wanted) if start in known else None
        for start in starts
    ]


@dataclass(frozen=True, slots=True)
class Usual:
    """Medians over buckets, per minute; ``means`` are the mean run times (s) of functions."""

    inflow: float
    completed: float
    means: Mapping[str, float]


def usual(server: str, queues: Iterable[str], since: int, until: int, *, width: int = 60) -> dict[str, Usual]:
    """How queues normally do, from the buckets in which the server was watched. One query."""
    wanted = set(queues)
    rows = Rollup.objects.filter(
        width=width, server=server, queue__in=["", *wanted], start__gte=since, start__lt=until
    ).order_by("-start")[: MOST * 2]
    known = set()
    paces: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in wanted}
    runs: dict[str, dict[str, list[float]]] = {name: {} for name in wanted}
    for row in rows:
        if row.queue not in wanted:
            known.add(row.start)
            continue
        inflow = sum(row.counts.get(event, 0) for event in PLUS)
        paces[row.queue][row.start] = (inflow * 60 / width, row.counts.get("completed", 0) * 60 / width)
        for name, told in row.functions.items():
            if n := sum(told["r"].values()):
                runs[row.queue].setdefault(name, []).append(told["rt"] / n / 1e6)
    found = {}
    for name in wanted:
        pairs = [paces[name].get(start, (0.0, 0.0)) for start in known]
        if len(pairs) >= LEAST:
            means = {function: median(values) for function, values in runs[name].items()}
            found[name] = Usual(median(a for a, _ in pairs), median(b for _, b in pairs), means)
    return found


def _point(start: int, row: Rollup | None, function: str | None, looked: bool, times: bool) -> Point:
    """``looked``: at the end of the bucket the backlog was looked at; of one function nobody does."""
    looked = looked and function is None
    if row is None:
        return Point(start, {}, Histogram(), Histogram(), 0 if looked else None, None)
    tally = Tally()
    if function is not None or times:
        for told in row.functions.values() if function is None else [row.functions.get(function)]:
            if told:
                tally.merge(told)
    counts = tally.counts if function is not None else {k: n for k, n in row.counts.items() if k != "minutes"}
    waited, ran = (_histogram(tally, kind) for kind in ("w", "r"))
    gauges = row.gauges if looked else {}
    return Point(start, counts, waited, ran, gauges.get("waiting", 0) if looked else None, gauges.get("oldest_age"))


def _histogram(tally: Tally, kind: str) -> Histogram:
    return Histogram({int(bin_): n for bin_, n in tally.bins[kind].items()}, tally.sums[kind])
