"""Errors of the primitives."""

from __future__ import annotations


class NotAcquired(Exception):
    """A lock, semaphore or rate had no room. ``retry_after`` is when it may have, in seconds, or None if unknown."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
