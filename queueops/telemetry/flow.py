"""Inflow, completions and failures of one queue per minute, for the last hour; two round trips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queueops.conf import conf
from queueops.telemetry.batch import Batch
from queueops.telemetry.buckets import Series, TenReader
from queueops.telemetry.clock import from_time, known_since
from queueops.telemetry.events import MINUS, PLUS

if TYPE_CHECKING:
    from queueops.rdb.client import Server

EVENTS = (*PLUS, *MINUS, "failed_attempt", "retried", "parked", "duplicate", "refused", "rejected")


@dataclass(frozen=True, slots=True)
class Flow:
    """Series of whole minutes, the last one unfinished. ``gap`` is inflow less everything that left."""

    queue: str
    at: int
    inflow: Series
    completed: Series
    failed: Series
    left: Series
    events: dict[str, Series]


def flow(server: Server, queue: str, *, minutes: int = 60) -> Flow:
    """The minutes up to now, by the clock of Redis; ``None`` where nothing is known."""
    keys = conf.keys
    first = Batch(server.connection)
    time = first.call("time")
    epoch, counting = (first.call("get", keys.static(name)) for name in ("epoch", "counting_since"))
    first.run()
    now = from_time(time.get((0, 0)))
    reader = TenReader(keys, EVENTS)
    second = Batch(server.connection)
    reader.plan(second, [queue], now, known_since(epoch.get(), counting.get()))
    second.run()
    reader.absorb()
    n = min(max(minutes, 1), 60)

    def series(*events: str) -> Series:
        return reader.clock_minutes(queue, events, n)

    return Flow(
        queue=queue,
        at=now,
        inflow=series(*PLUS),
        completed=series("completed"),
        failed=series("failed"),
        left=series(*MINUS),
        events={event: series(event) for event in EVENTS},
    )
