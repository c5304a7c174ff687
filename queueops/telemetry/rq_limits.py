"""Jobs that RQ's own RateLimit holds back: on no queue and in no registry of a queue, so placed by their origin.

RQ keeps them per limit key, not per queue. The first ``PER_KEY`` of each key are placed exactly; the rest are counted
as unplaced, not guessed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from queueops.rdb.keys import Keys
from queueops.telemetry.batch import Batch, Slot, text

MAX_KEYS = 100
PER_KEY = 20


class RqHeld:
    """Three steps in the round trips that a census makes anyway: which keys; how many; where from."""

    def __init__(self, batch: Batch, keys: Keys) -> None:
        self._keys = keys
        self._scan = batch.call("sscan", keys.static("rq_limits"), 0, count=MAX_KEYS)
        self._sets: list[tuple[Slot, Slot]] = []
        self._origins: list[Slot] = []

    def look(self, batch: Batch) -> None:
        """Ask how many jobs each key holds back, and which are first."""
        scanned: Any = self._scan.get((0, []))
        for name in (text(raw) for raw in scanned[1][:MAX_KEYS]):
            if name is not None:
                key = self._keys.of("rq_limit", f"{name}:rate_limited")
                self._sets.append((batch.call("zcard", key), batch.call("zrange", key, 0, PER_KEY - 1)))

    def place(self, batch: Batch) -> None:
        """Ask for the queues of the first."""
        for _, first in self._sets:
            for job in (text(raw) for raw in first.get([])):
                if job is not None:
                    self._origins.append(batch.call("hget", self._keys.of("rq_job", job), "origin"))

    def result(self) -> tuple[dict[str, int], int]:
        """``(jobs per queue, jobs whose queue was not looked up)``."""
        placed = Counter(name for slot in self._origins if (name := text(slot.get())) is not None)
        total = sum(size.number() for size, _ in self._sets)
        return dict(placed), max(0, total - placed.total())
