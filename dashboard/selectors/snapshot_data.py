"""The shared snapshot as dataclasses: queues, what is in force, what needs a person, all servers together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.selectors.store import Down
from queueops.diagnosis.patterns import Scene

STATES = ("queued", "parked", "scheduled", "deferred", "running", "rate_limited", "intermediate")
LEVELS = ("ok", "unknown", "warn", "bad")
Series = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue as the monitor saw it. Ages in seconds, rates per minute; None means unknown."""

    name: str
    server: str
    max_age: float
    oldest_age: float | None
    open: Mapping[str, int]
    failed: int
    quarantined: int
    inflow: float | None
    completed: float | None
    failing: float | None
    attempts_failing: float | None
    paused: Mapping[str, Any] | None
    busy: int
    idle: int
    spark_in: Series
    spark_out: Series

    @property
    def waiting(self) -> int:
        """Jobs that could run by now but for a free worker or control, as the census counts them."""
        return sum(self.open.get(state, 0) for state in ("queued", "parked", "rate_limited", "intermediate"))

    @property
    def parked(self) -> int:
        return self.open.get("parked", 0)

    @property
    def workers(self) -> int:
        return self.busy + self.idle

    @property
    def times_target(self) -> float | None:
        """How many times its ``max_age`` the oldest waiting job is old."""
        return self.oldest_age / self.max_age if self.oldest_age is not None and self.max_age else None

    @property
    def is_late(self) -> bool:
        """Has the diagnosis anything to explain here?"""
        return Scene.is_late(self.waiting, self.oldest_age, self.max_age)

    def pace(self, minutes: int = 5) -> tuple[float, float] | None:
        """Mean inflow and completions per minute over the last whole minutes known; None with fewer than two."""
        pairs = list(zip(self.spark_in[-minutes:], self.spark_out[-minutes:], strict=False))
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(known) < 2:
            return None
        return sum(a for a, _ in known) / len(known), sum(b for _, b in known) / len(known)


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that needs a person."""

    level: str
    kind: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Restraint:
    """One thing in force: a pause, limit, isolation or RQ's suspension. ``until`` in µs, 0 = until lifted."""

    kind: str
    target: str
    by: str
    reason: str
    until: int
    server: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one server's monitor last published. ``age`` in seconds; ``now`` and ``at`` in µs of the store's clock."""

    server: str
    seq: int
    at: int
    now: int
    level: str
    health: str
    reported: bool
    queues: tuple[QueueRow, ...]
    workers: Mapping[str, int]
    controls: Mapping[str, int]
    banner: tuple[Restraint, ...]
    needs: tuple[Need, ...]
    totals: Mapping[str, Any]

    @property
    def age(self) -> float:
        return max(0.0, (self.now - self.at) / 1e6)


@dataclass(frozen=True, slots=True)
class State:
    """All servers together, as every page shows them."""

    snapshots: tuple[Snapshot, ...]
    down: tuple[Down, ...] = ()
    queues: tuple[QueueRow, ...] = field(default=())

    @property
    def level(self) -> str:
        if self.down:
            return "bad"
        if not self.snapshots or any(not s.reported for s in self.snapshots):
            return "unknown"
        return max((s.level for s in self.snapshots), key=lambda level: LEVELS.index(level) if level in LEVELS else 1)

    @property
    def reported(self) -> bool:
        """True when every server's monitor has reported lately."""
        return bool(self.snapshots) and all(s.reported for s in self.snapshots)

    @property
    def health(self) -> str:
        bad = [s.health for s in self.snapshots if s.health and s.level != "ok"]
        return " ".join(bad or [s.health for s in self.snapshots if s.health][:1])

    @property
    def age(self) -> float:
        return max((s.age for s in self.snapshots), default=0.0)

    @property
    def at(self) -> int:
        return min((s.at for s in self.snapshots), default=0)

    @property
    def now(self) -> int:
        return max((s.now for s in self.snapshots), default=0)

    @property
    def banner(self) -> tuple[Restraint, ...]:
        found: dict[tuple[str, str], Restraint] = {}
        for item in (item for s in self.snapshots for item in s.banner):
            found.setdefault((item.kind, item.target), item)  # what holds everywhere is mirrored to every server
        return tuple(found.values())

    @property
    def needs(self) -> tuple[Need, ...]:
        found = [need for s in self.snapshots for need in s.needs]
        return tuple(sorted(found, key=lambda need: need.level != "bad"))

    def total(self, name: str) -> float | None:
        """The sum of one total over the servers; None when no server knows it."""
        known = [s.totals.get(name) for s in self.snapshots if isinstance(s.totals.get(name), (int, float))]
        return sum(known) if known else None  # type: ignore[arg-type]

    def workers(self, name: str) -> int:
        return sum(int(s.workers.get(name) or 0) for s in self.snapshots)

    def controls(self, name: str) -> int:
        return sum(int(s.controls.get(name) or 0) for s in self.snapshots)

    def queue(self, name: str) -> QueueRow | None:
        return next((row for row in self.queues if row.name == name), None)
