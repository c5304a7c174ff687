"""What a queue, a function or everything did over hours and days: the roll-ups, in two queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queueops.rdb.client import server_of, servers
from queueops.telemetry.histograms import merged
from queueops.telemetry.history import Point, points

HOUR, DAY = 3_600, 86_400
PERIODS = {"1h": HOUR, "6h": 6 * HOUR, "24h": DAY, "7d": 7 * DAY, "90d": 90 * DAY}
"""Seconds that a page offers to look back."""
DEFAULT = "1h"
MINUTES_TO = DAY
"""Up to this period each point is a minute, above it an hour. Times are read by the minute up to six hours only: they
are most of what there is to read."""


@dataclass(frozen=True, slots=True)
class History:
    """``points`` begin at ``start`` (epoch seconds) and are ``step`` seconds apart; None is a gap. ``times`` may have a
    wider step.
    """

    period: str
    start: int
    step: int
    points: tuple[Point | None, ...]
    times_start: int
    times_step: int
    times: tuple[Point | None, ...]


def history(queue: str | None, period: str, now: int, *, function: str | None = None) -> History:
    """``now`` in µs by the clock of Redis. Of all queues (None) there are no times."""
    span = PERIODS[period]
    step = 60 if span <= MINUTES_TO else HOUR
    times_step = 60 if span <= 6 * HOUR else HOUR
    aliases = [server.alias for server in servers()] if queue is None else [server_of(queue).alias]
    name = queue or ""
    until = now // 1_000_000 // step * step
    found = together(
        [
            points(alias, name, until - span, until, width=step, function=function, times=function is not None)
            for alias in aliases
        ]
    )
    while found and found[-1] is None and len(found) > span // step - 2:
        found.pop()  # the newest are written a few seconds after they are over
    times_until = now // 1_000_000 // times_step * times_step
    times: list[Point | None] = []
    if queue is not None:
        if function is not None and times_step == step:
            times = found
        else:
            times = points(aliases[0], name, times_until - span, times_until, width=times_step, function=function)
    return History(period, until - span, step, tuple(found), times_until - span, times_step, tuple(times))


def together(of_servers: Sequence[Sequence[Point | None]]) -> list[Point | None]:
    """Sums; a bucket that no server knows is a gap."""
    if len(of_servers) == 1:
        return list(of_servers[0])
    found: list[Point | None] = []
    for column in zip(*of_servers, strict=True):
        known = [point for point in column if point is not None]
        found.append(_sum(known) if known else None)
    return found


def _sum(known: Sequence[Point]) -> Point:
    counts: dict[str, int] = {}
    for point in known:
        for event, n in point.counts.items():
            counts[event] = counts.get(event, 0) + n
    waiting = [point.waiting for point in known if point.waiting is not None]
    ages = [point.oldest_age for point in known if point.oldest_age is not None]
    return Point(
        known[0].start,
        counts,
        merged(point.waited for point in known),
        merged(point.ran for point in known),
        sum(waiting) if len(waiting) == len(known) else None,
        max(ages, default=None),
    )
