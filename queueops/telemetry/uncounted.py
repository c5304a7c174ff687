"""Inflow that no door counted: from producers without queueops, seen as the positive remainder of the ledger.

Every snapshot's census and totals belong to one moment, so the remainder between two of them is exact. It is kept per
10 s like the counters. A pause of the observer, or a reset of the counters, leaves nothing rather than a guess.
"""

from __future__ import annotations

from queueops.telemetry.buckets import TEN, TEN_KEPT, floor_to
from queueops.telemetry.census import Census, QueueCensus
from queueops.telemetry.clock import US
from queueops.telemetry.ledger import between

APART = 15.0
"""Seconds between two looks at most: what happened in a longer time cannot be dated."""


class Uncounted:
    """Remembers the remainders of the last hour, per queue and 10 s."""

    def __init__(self) -> None:
        self._last: tuple[int, dict[str, QueueCensus]] | None = None
        self._tens: dict[str, dict[int, int]] = {}

    def add(self, moment: Census) -> None:
        """Take the next census, which must have read the totals."""
        now = {queue.name: queue for queue in moment.queues if queue.totals is not None and not queue.error}
        if self._last and 0 < moment.at - self._last[0] <= APART * US:
            start = floor_to(moment.at / US, TEN)
            for name, queue in now.items():
                before = self._last[1].get(name)
                remainder = between(before, queue).remainder if before else None
                if remainder:
                    tens = self._tens.setdefault(name, {})
                    tens[start] = tens.get(start, 0) + remainder
        self._last = (moment.at, now)
        oldest = floor_to(moment.at / US, TEN) - TEN_KEPT
        for name, tens in list(self._tens.items()):
            self._tens[name] = {start: value for start, value in tens.items() if start >= oldest}

    def since(self, queue: str, start: int, end: int) -> int:
        """Jobs that came uncounted in the buckets from ``start`` up to ``end`` (epoch seconds); never negative."""
        tens = self._tens.get(queue)
        return max(0, sum(value for at, value in tens.items() if start <= at < end)) if tens else 0

    def minutes(self, queue: str, start: int, values: tuple[int | None, ...]) -> list[int | None]:
        """``values`` per minute from ``start`` on, with what came uncounted added where anything is known."""
        if not self._tens.get(queue):
            return list(values)
        return [
            None if value is None else value + self.since(queue, start + i * 60, start + (i + 1) * 60)
            for i, value in enumerate(values)
        ]
