"""What a queue, or a function of it, did over hours and days: from the roll-ups in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
class Used:
    """A dependency in one bucket: its calls, those that raised, and their times."""

    calls: int
    errors: int
    times: Histogram

    def __add__(self, other: Used) -> Used:
        return Used(self.calls + other.calls, self.errors + other.errors, self.times + other.times)


@dataclass(frozen=True, slots=True)
class Point:
    """One bucket. ``oldest_age`` in seconds and ``waiting`` are those of its end (of an hour: the highest)."""

    start: int
    counts: Mapping[str, int]
    waited: Histogram
    ran: Histogram
    waiting: int | None = None
    oldest_age: float | None = None
    used: Mapping[str, Used] = field(default_factory=dict)
    """By dependency."""

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
    query. The queue ``""`` is all queues of the server together, ``times=False`` leaves times and
    dependencies of a whole queue out, which are most of what is read.
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
    return [
        _point(start, found.get(start), function, bool(known[start].gauges), times) if start in known else None
        for start in starts
    ]


@dataclass(frozen=True, slots=True)
class Usual:
    """Medians over buckets, per minute; ``means`` are the mean run times (s) of functions, ``outside`` the p95 (s) of
    dependencies.
    """

    inflow: float
    completed: float
    means: Mapping[str, float]
    outside: Mapping[str, float] = field(default_factory=dict)


def usual(server: str, queues: Iterable[str], since: int, until: int, *, width: int = 60) -> dict[str, Usual]:
    """How queues normally do, from the buckets in which the server was watched. One query."""
    wanted = set(queues)
    rows = Rollup.objects.filter(
        width=width, server=server, queue__in=["", *wanted], start__gte=since, start__lt=until
    ).order_by("-start")[: MOST * 2]
    known = set()
    paces: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in wanted}
    runs: dict[str, dict[str, list[float]]] = {name: {} for name in wanted}
    waits: dict[str, dict[str, list[float]]] = {name: {} for name in wanted}
    for row in rows:
        if row.queue not in wanted:
            known.add(row.start)
            continue
        inflow = sum(row.counts.get(event, 0) for event in PLUS)
        paces[row.queue][row.start] = (inflow * 60 / width, row.counts.get("completed", 0) * 60 / width)
        for name, told in row.functions.items():
            if n := sum(told["r"].values()):
                runs[row.queue].setdefault(name, []).append(told["rt"] / n / 1e6)
        for name, used in _used(row).items():
            if (p95 := used.times.percentile(95)) is not None:
                waits[row.queue].setdefault(name, []).append(p95)
    found = {}
    for name in wanted:
        pairs = [paces[name].get(start, (0.0, 0.0)) for start in known]
        if len(pairs) >= LEAST:
            means = {function: median(values) for function, values in runs[name].items()}
            outside = {other: median(values) for other, values in waits[name].items() if len(values) >= LEAST}
            found[name] = Usual(median(a for a, _ in pairs), median(b for _, b in pairs), means, outside)
    return found


def used_lately(server: str, queues: Iterable[str], since: int, until: int) -> dict[str, dict[str, Used]]:
    """By queue, what its jobs used outside in these minutes, all together. One query."""
    rows = Rollup.objects.filter(width=60, server=server, queue__in=list(queues), start__gte=since, start__lt=until)
    found: dict[str, dict[str, Used]] = {}
    for row in rows:
        mine = found.setdefault(row.queue, {})
        for name, used in _used(row).items():
            mine[name] = mine[name] + used if name in mine else used
    return found


def _used(row: Rollup) -> dict[str, Used]:
    """Of all its functions."""
    tally = Tally()
    for told in row.functions.values():
        if "d" in told:
            tally.merge(told)
    return _as_used(tally)


def _as_used(tally: Tally) -> dict[str, Used]:
    return {
        name: Used(one["n"], one["e"], Histogram({int(bin_): n for bin_, n in one["b"].items()}, one["t"]))
        for name, one in tally.used.items()
    }


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
    used = _as_used(tally)
    waiting = gauges.get("waiting", 0) if looked else None
    return Point(start, counts, waited, ran, waiting, gauges.get("oldest_age"), used)


def _histogram(tally: Tally, kind: str) -> Histogram:
    return Histogram({int(bin_): n for bin_, n in tally.bins[kind].items()}, tally.sums[kind])
