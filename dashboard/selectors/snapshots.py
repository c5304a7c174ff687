"""The shared snapshot as dataclasses. One GET per server, remembered for a moment: viewers cost what one costs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.selectors import store
from queueops.rdb.client import Server, servers
from queueops.telemetry.snapshot import snapshot as compute

REMEMBER = 0.5
"""Seconds for which one reading serves every request of this process."""

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

    def pace(self, minutes: int = 5) -> tuple[float, float] | None:
        """Mean inflow and completions per minute over the last whole minutes known; None with fewer than two."""
        pairs = list(zip(self.spark_in[-minutes:], self.spark_out[-minutes:], strict=False))
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(known) < 2:
            return None
        return sum(a for a, _ in known) / len(known), sum(b for _, b in known) / len(known)

    @property
    def growth(self) -> float | None:
        """Inflow less completions, per minute."""
        return None if self.inflow is None or self.completed is None else self.inflow - self.completed


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
    down: tuple[store.Down, ...] = ()
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


def _series(value: Any) -> Series:
    if not isinstance(value, list):
        return ()
    return tuple(float(v) if isinstance(v, (int, float)) else None for v in value[-240:])


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _counts(value: Any) -> dict[str, int]:
    return {str(k): store.number(v) for k, v in value.items()} if isinstance(value, dict) else {}


def _word(record: dict[str, Any], name: str) -> str:
    return str(record.get(name) or "")


def _queue(row: dict[str, Any], server: str) -> QueueRow:
    held, workers, spark = _counts(row.get("held")), _counts(row.get("workers")), row.get("spark") or {}
    return QueueRow(
        name=str(row.get("name", "")),
        server=server,
        max_age=_float(row.get("max_age")) or 60.0,
        oldest_age=_float(row.get("oldest_age")),
        open={state: _counts(row.get("open")).get(state, 0) for state in STATES},
        failed=held.get("failed", 0),
        quarantined=held.get("quarantined", 0),
        inflow=_float(row.get("inflow_per_min")),
        completed=_float(row.get("completed_per_min")),
        failing=_float(row.get("failed_per_min")),
        attempts_failing=_float(row.get("failed_attempts_per_min")),
        paused=row["paused"] if isinstance(row.get("paused"), dict) else None,
        busy=workers.get("busy", 0),
        idle=workers.get("idle", 0),
        spark_in=_series(spark.get("in")),
        spark_out=_series(spark.get("out")),
    )


def parse(data: dict[str, Any], server: str, now: int, reported: bool = True) -> Snapshot:
    """A snapshot's JSON as dataclasses; what is missing (an older monitor) becomes zero or unknown."""
    rows = [row for row in data.get("queues") or [] if isinstance(row, dict)]
    at, totals = store.number(data.get("at")), data.get("totals")
    return Snapshot(
        server=server,
        seq=store.number(data.get("seq")),
        at=at,
        now=now or at,
        level=str(data.get("level") or "unknown"),
        health=str(data.get("health") or ""),
        reported=reported,
        queues=tuple(_queue(row, server) for row in rows),
        workers=_counts(data.get("workers")),
        controls=_counts(data.get("controls")),
        banner=tuple(
            Restraint(
                _word(b, "kind"),
                _word(b, "target"),
                _word(b, "by"),
                _word(b, "reason"),
                until=store.number(b.get("until")),
                server=server,
            )
            for b in data.get("banner") or []
            if isinstance(b, dict)
        ),
        needs=tuple(
            Need(_word(n, "level"), _word(n, "kind"), _word(n, "text"), _word(n, "href"))
            for n in data.get("needs") or []
            if isinstance(n, dict)
        ),
        totals=totals if isinstance(totals, dict) else {},
    )


def _now(answer: Any) -> int:
    return int(answer[0]) * 1_000_000 + int(answer[1]) if isinstance(answer, (list, tuple)) and len(answer) == 2 else 0


def _read(server: Server) -> Snapshot:
    """The published snapshot, or, when no monitor reports, one computed now (level unknown: nobody watches)."""
    answers = store.ask(server, lambda pipe: pipe.time().get(store.keys().static("snapshot")))
    now = _now(answers[0])
    try:
        data = json.loads(answers[1])
    except (TypeError, ValueError):
        data = None
    if isinstance(data, dict) and data.get("v") == 1:
        return parse(data, server.alias, now)
    with store.guard(server):
        return parse(compute(server), server.alias, now, reported=False)


_memory: tuple[float, State] | None = None
_lock = threading.Lock()


def current() -> State:
    """All servers' snapshots; a server that does not answer is listed in ``down``."""
    global _memory
    with _lock:
        if _memory and time.monotonic() - _memory[0] < REMEMBER:
            return _memory[1]
        found: list[Snapshot] = []
        down: list[store.Down] = []
        for server in servers():
            try:
                found.append(_read(server))
            except store.StoreDown as error:
                down.append(error.down)
        rows = sorted(
            (row for snapshot in found for row in snapshot.queues),
            key=lambda row: (-(row.oldest_age or 0.0), -row.waiting, row.name),
        )
        state = State(tuple(found), tuple(down), tuple(rows))
        _memory = (time.monotonic(), state)
        return state


def forget() -> None:
    """Drop the remembered reading: the page that follows a change must show it."""
    global _memory
    with _lock:
        _memory = None
