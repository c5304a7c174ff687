"""Spans, moments and names as an operator reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from queueops.rdb.keys import split_instance


def span(us: float) -> str:
    """A length of time given in µs: ``45 s``, ``3 min 5 s``, ``2 h 4 min``, ``3 d 1 h``."""
    seconds = max(0, round(us / 1_000_000))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min" + (f" {seconds % 60} s" if seconds % 60 else "")
    if seconds < 86400:
        return f"{seconds // 3600} h" + (f" {seconds % 3600 // 60} min" if seconds % 3600 // 60 else "")
    return f"{seconds // 86400} d" + (f" {seconds % 86400 // 3600} h" if seconds % 86400 // 3600 else "")


def moment(us: int | float | None) -> str:
    """A moment in UTC, to the second."""
    if not us:
        return "unknown"
    try:
        return datetime.fromtimestamp(us / 1_000_000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "unknown"


def control(instance: str, text: str = "") -> str:
    """``semaphore s3-upload, key eu``."""
    kind, name, key = split_instance(instance)
    shown = text or key
    return f"{kind} {name}" + (f", key {shown}" if shown else "")


def by_whom(record: dict[str, Any], now: int) -> str:
    """``by ann (maintenance), 5 min 2 s to go``."""
    words = f"by {record.get('by') or 'unknown'}"
    if record.get("reason"):
        words += f" ({record['reason']})"
    until = record.get("until") or 0
    if isinstance(until, (int, float)) and until > 0:
        return f"{words}, until {moment(until)} ({span(until - now)} to go)"
    return f"{words}, until somebody lifts it"
