"""Spans, moments and names as an operator reads them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from queueops.rdb.keys import KINDS, split_instance

TARGETS = {"q": "queue", "f": "function", "e": "error"}
DIED = re.compile(r"worker died (?P<n>\d{1,9}) times?(?: \((?P<how>[^()]*)\))?")


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
    """A moment in the project's time zone, to the second."""
    if not us:
        return "unknown"
    try:
        return clock(datetime.fromtimestamp(us / 1_000_000, tz=UTC))
    except (OverflowError, ValueError, OSError):
        return "unknown"


def clock(at: datetime) -> str:
    """``2026-05-04 13:05:09 CEST``: to the second, in the project's time zone."""
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S %Z")


def written(text: str) -> str:
    """A moment that RQ or JSON wrote in ISO form, the same way; as it is when it cannot be read."""
    try:
        at = datetime.fromisoformat(text)
        return clock(at if at.tzinfo else at.replace(tzinfo=UTC))
    except (OverflowError, ValueError):
        return text


def target(field: str) -> str:
    """What a pause, isolation or limit is about: ``queue mail`` for ``q:mail``, ``lock import`` for ``L:import``."""
    letter, colon, name = field.partition(":")
    if not colon:
        return "everything" if field == "all" else field
    if letter == "k":
        return "key of " + control(name)
    return f"{TARGETS.get(letter) or KINDS.get(letter, letter)} {name}"


def died(reason: str) -> str:
    """A stored reason in an operator's words: it is the job's process that died, not its worker."""
    found = DIED.search(reason)
    if not found:
        return reason
    times, how = int(found["n"]), found["how"]
    how = f" ({how}{': killed, perhaps out of memory' if how == 'signal 9' else ''})" if how else ""
    words = f"its process died {times} time{'s' if times != 1 else ''}{how}"
    return reason[: found.start()] + words + reason[found.end() :]


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
