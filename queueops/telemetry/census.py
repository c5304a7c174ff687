"""One number per queue for everything open, by where it is, and for what is held.

All counts are O(1) reads in one atomic round trip for all queues, so they belong to one moment and the ledger can
balance. The oldest age takes one more round trip, which looks at the hashes of a few heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from queueops.conf import conf
from queueops.rdb.keys import Keys
from queueops.telemetry.batch import Batch, Slot, number
from queueops.telemetry.clock import from_time
from queueops.telemetry.discovery import QueueSearch
from queueops.telemetry.oldest import HeadCheck, Heads
from queueops.telemetry.rq_limits import RqHeld

if TYPE_CHECKING:
    from queueops.rdb.client import Server


@dataclass(frozen=True, slots=True)
class Open:
    """Open jobs of a queue. ``deferred`` includes dependents that RQ is just about to enqueue."""

    queued: int = 0
    parked: int = 0
    scheduled: int = 0
    deferred: int = 0
    running: int = 0
    rate_limited: int = 0
    intermediate: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    @property
    def waiting(self) -> int:
        """Those that could run by now but for a free worker or control."""
        return self.queued + self.parked + self.rate_limited + self.intermediate


@dataclass(frozen=True, slots=True)
class HeldWork:
    """Work set aside: its own stock, beside the open one."""

    failed: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class QueueCensus:
    """A queue at one moment. ``oldest_age`` in seconds; ``None`` when nothing waits or its age is unknown."""

    name: str
    open: Open
    held: HeldWork
    oldest_age: float | None = None
    oldest_job: str | None = None
    totals: Mapping[str, int] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """All queues of a server at ``at`` (µs)."""

    at: int
    queues: tuple[QueueCensus, ...]
    rate_limited_unplaced: int = 0

    def queue(self, name: str) -> QueueCensus | None:
        return next((queue for queue in self.queues if queue.name == name), None)


class CensusReader:
    """Adds the counts of ``names`` to a batch; :meth:`heads` makes the second one; :meth:`result` builds the answer."""

    COUNTS = (
        ("llen", "rq_queue", ""),
        ("llen", "rq_queue", ":intermediate"),
        ("zcard", "parked", ""),
        ("zcard", "rq_scheduled", ""),
        ("zcard", "rq_deferred", ""),
        ("zcard", "rq_ready", ""),
        ("zcard", "rq_wip", ""),
        ("zcard", "rq_failed", ""),
        ("zcard", "quarantined", ""),
    )

    def __init__(self, batch: Batch, keys: Keys, names: Sequence[str], held: RqHeld, *, totals: bool = False) -> None:
        self._keys, self._names = keys, tuple(names)
        self._counts: dict[str, list[Slot]] = {
            name: [batch.call(method, keys.of(family, name + suffix)) for method, family, suffix in self.COUNTS]
            for name in self._names
        }
        self._totals = {name: batch.call("hgetall", keys.of("total", name)) for name in self._names} if totals else {}
        self._heads = {name: Heads(batch, keys, name) for name in self._names}
        self._held = held
        held.look(batch)
        self._checks: dict[str, HeadCheck] = {}

    def heads(self, batch: Batch) -> None:
        """Add the reads of the job hashes at the heads; the first batch must have run."""
        self._checks = {name: self._heads[name].check(batch, self._keys) for name in self._names}
        self._held.place(batch)

    def result(self, now: int) -> Census:
        placed, unplaced = self._held.result()
        return Census(now, tuple(self._queue(name, placed.get(name, 0), now) for name in self._names), unplaced)

    def _queue(self, name: str, rate_limited: int, now: int) -> QueueCensus:
        slots = self._counts[name]
        queued, between, parked, scheduled, deferred, ready, running, failed, held = (s.number() for s in slots)
        oldest = self._checks[name].oldest(now) if name in self._checks else None
        raw = self._totals[name].get({}) if self._totals else None
        return QueueCensus(
            name,
            Open(queued, parked, max(0, scheduled - parked), deferred + ready, running, rate_limited, between),
            HeldWork(max(0, failed - held), held),
            oldest.age if oldest else None,
            oldest.job if oldest else None,
            None if raw is None else {k.decode("utf-8", "replace"): number(v) or 0 for k, v in raw.items()},
            next((str(slot.error) for slot in slots if slot.error), None),
        )


def census(server: Server, names: Sequence[str] | None = None, *, totals: bool = False) -> Census:
    """Everything open and held on a server, in three round trips whatever the number of queues."""
    keys = conf.keys
    first = Batch(server.connection)
    search = QueueSearch(first, keys, server.queues)
    held = RqHeld(first, keys)
    first.run()
    second = Batch(server.connection, atomic=True)
    time = second.call("time")
    wanted = search.result().names if names is None else tuple(names)
    reader = CensusReader(second, keys, wanted, held, totals=totals)
    second.run()
    third = Batch(server.connection)
    reader.heads(third)
    third.run()
    return reader.result(from_time(time.get((0, 0))))
