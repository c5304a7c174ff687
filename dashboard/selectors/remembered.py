"""One reading for all viewers of a process, for a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
_all: list[Remembered] = []  # type: ignore[type-arg]


class Remembered(Generic[T]):
    """Readings by what was asked for, at ``most`` so many. Two viewers who ask at the same moment may both read."""

    def __init__(self, seconds: float = 5.0, most: int = 32) -> None:
        self._seconds, self._most = seconds, most
        self._found: dict[Hashable, tuple[float, T]] = {}
        self._lock = threading.Lock()
        _all.append(self)

    def get(self, wanted: Hashable, read: Callable[[], T]) -> T:
        """What ``read`` returned for ``wanted`` a moment ago, or returns now."""
        with self._lock:
            at, *known = self._found.get(wanted, (0.0,))
        if known and time.monotonic() - at < self._seconds:
            return known[0]
        found = read()
        with self._lock:
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[wanted] = (time.monotonic(), found)
        return found

    def forget(self) -> None:
        with self._lock:
            self._found.clear()


def forget() -> None:
    """Drop every reading."""
    for one in _all:
        one.forget()
