"""The store's clock: decisions about ends use Redis time, never this host's."""

from __future__ import annotations

from datetime import UTC, datetime

import redis

from queueops.operations.errors import OperationError

MAX_SECONDS = 366 * 86400
"""The longest a timed change may last (s)."""


def now_us(connection: redis.Redis) -> int:
    """Redis time in µs since the epoch."""
    seconds, micros = connection.time()
    return int(seconds) * 1_000_000 + int(micros)


def to_datetime(us: int) -> datetime:
    """An aware UTC datetime for µs since the epoch."""
    return datetime.fromtimestamp(us / 1_000_000, tz=UTC)


def to_us(moment: datetime | None) -> int:
    """µs since the epoch; 0 for no moment."""
    return 0 if moment is None else round(moment.timestamp() * 1_000_000)


def end_after(connection: redis.Redis, seconds: float | None) -> datetime | None:
    """The moment ``seconds`` from now by Redis time; None for no end."""
    if seconds is None:
        return None
    if not 0 < seconds <= MAX_SECONDS:
        raise OperationError(f"A duration must be more than 0 s and at most a year, not {seconds} s.", "bad_duration")
    return to_datetime(now_us(connection) + round(seconds * 1_000_000))
