"""How the outside services do that jobs use: now, and beside their own last day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from statistics import median

from queueops.telemetry.history import Point, Used, points

BAND = 1.5
"""How many times its own median p95 a dependency may take and still be inside its band."""
MINUTES = 10
"""Of which the figures are; the newest minute is written a moment after it is over."""
LEAST = 3
"""Buckets without which nothing is called usual."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """``minutes`` of the window; times in seconds, None when unknown; ``usual`` is the median of its earlier p95."""

    name: str
    minutes: int
    calls: int
    errors: int
    p50: float | None
    p95: float | None
    p99: float | None
    usual: float | None

    @property
    def state(self) -> str:
        """``inside`` or ``above`` its band, ``silent`` (used before, not lately), ``new`` (nothing to compare with)."""
        if not self.calls:
            return "silent"
        if self.usual is None or self.p95 is None:
            return "new"
        return "inside" if self.p95 <= BAND * self.usual else "above"


def measured(servers: Iterable[str], now: int) -> tuple[Dependency, ...]:
    """What the jobs of these servers use outside: ten minutes up to ``now`` (µs) beside a day of hours. Two queries a
    server.
    """
    minute, hour = now // 60_000_000 * 60, now // 3_600_000_000 * 3600
    recent: list[Point | None] = []
    earlier: list[Point | None] = []
    for server in servers:
        recent += points(server, "", minute - (MINUTES + 1) * 60, minute)
        earlier += points(server, "", hour - 24 * 3600, hour, width=3600)
    return dependencies(recent, earlier)


def dependencies(recent: Sequence[Point | None], earlier: Sequence[Point | None]) -> tuple[Dependency, ...]:
    """Of the buckets ``recent`` (minutes), beside those of ``earlier``; by name."""
    now = [point.used for point in recent if point is not None]
    before = [point.used for point in earlier if point is not None]
    names = sorted({name for used in (*now, *before) for name in used})
    return tuple(_one(name, len(now), now, before) for name in names)


def _one(
    name: str, minutes: int, now: Sequence[Mapping[str, Used]], before: Sequence[Mapping[str, Used]]
) -> Dependency:
    mine = [used[name] for used in now if name in used]
    whole = reduce(add, mine) if mine else None
    usual = [p95 for used in before if name in used and (p95 := used[name].times.percentile(95)) is not None]
    p50, p95, p99 = (whole.times.percentile(p) if whole else None for p in (50, 95, 99))
    calls, errors = (whole.calls, whole.errors) if whole else (0, 0)
    return Dependency(name, minutes, calls, errors, p50, p95, p99, median(usual) if len(usual) >= LEAST else None)
