"""Counts who is inside, in shared memory: the proof of a limit must not come from the store that keeps it."""

from __future__ import annotations

import time

from bench.lab import FORK


class Room:
    """``most`` seen at once, ``over`` entries beyond ``limit``, ``visits``, ``twice`` the same visitor in at once."""

    def __init__(self, limit: int, visitors: int = 1024) -> None:
        self.limit = limit
        self._lock = FORK.Lock()
        self._counts = FORK.RawArray("l", 4)
        self._inside = FORK.RawArray("l", visitors)

    def enter(self, visitor: int = 0) -> None:
        with self._lock:
            counts = self._counts
            counts[0] += 1
            counts[1] = max(counts[1], counts[0])
            counts[2] += counts[0] > self.limit
            counts[3] += 1
            self._inside[visitor] += 1

    def leave(self, visitor: int = 0) -> None:
        with self._lock:
            self._counts[0] -= 1
            self._inside[visitor] -= 1

    def visit(self, visitor: int = 0, seconds: float = 0.001) -> None:
        """In, a moment, out."""
        self.enter(visitor)
        try:
            time.sleep(seconds)
        finally:
            self.leave(visitor)

    @property
    def most(self) -> int:
        return int(self._counts[1])

    @property
    def over(self) -> int:
        return int(self._counts[2])

    @property
    def visits(self) -> int:
        return int(self._counts[3])
