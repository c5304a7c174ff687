"""Redis time and the moments since which the counters are known to have counted."""

from __future__ import annotations

from datetime import UTC, datetime

from queueops.telemetry.batch import number, text

US = 1_000_000


def from_time(answer: tuple[int, int]) -> int:
    """Answer of TIME as µs."""
    return int(answer[0]) * US + int(answer[1])


def known_since(epoch: object, counting_since: object) -> int | None:
    """µs since when a missing counter means zero; ``None`` while this Redis has no epoch.

    An emptied Redis has lost both keys; what lies before the new ones is unknown, not zero.
    """
    return None if epoch is None else number(counting_since)


def from_iso(raw: object) -> int | None:
    """RQ's own UTC text time as µs; ``None`` when it is none."""
    value = text(raw)
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * US)


def age(since: int | float | None, now: int) -> float | None:
    """Seconds from ``since`` to ``now`` (both µs), never negative."""
    return None if since is None else max(0.0, (now - since) / US)
