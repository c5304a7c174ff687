"""Spans, moments and names as an operator reads them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from queueops.rdb.keys import KINDS, split_instance

TARGETS = {"q": "queue", "f": "function", "e": "error"}
DIED = re.compile(r"worker died (?P<n>\d{1,9}) times?(?: \((?P<how>[^()]*)\))?")
REASONS: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"half a job: the hash has no data"), gettext_lazy("half a job: its data is missing")),
    (re.compile(r"failed after (?P<n>\d+) attempts?"), gettext_lazy("failed after %(n)s attempts")),
    (re.compile(r"waited too long for (?P<what>.+)"), gettext_lazy("waited too long for %(what)s")),
    (re.compile(r"duplicate of (?P<what>.+)"), gettext_lazy("duplicate of %(what)s")),
    (re.compile(r"the same is running: (?P<what>.+)"), gettext_lazy("the same is running: %(what)s")),
    (
        re.compile(r"put off (?P<n>\d+) times: duplicate of (?P<what>.+)"),
        gettext_lazy("put off %(n)s times: duplicate of %(what)s"),
    ),
    (
        re.compile(r"put off (?P<n>\d+) times: the same is running"),
        gettext_lazy("put off %(n)s times: the same is running"),
    ),
    (re.compile(r"function isolated"), gettext_lazy("its function is isolated")),
    (re.compile(r"error isolated"), gettext_lazy("its error is isolated")),
    (re.compile(r"key isolated"), gettext_lazy("its key is isolated")),
    (re.compile(r"by (?P<who>[^:]+): (?P<why>.+)", re.DOTALL), gettext_lazy("by %(who)s: %(why)s")),
)
"""Why the doors set jobs aside, as they write it."""


def span(us: float) -> str:
    """A length of time given in µs: ``45 s``, ``3 min 5 s``, ``2 h 4 min``, ``3 d 1 h``."""
    seconds = max(0, round(us / 1_000_000))
    if seconds < 60:
        return _("%(n)s s") % {"n": seconds}
    parts = ((86400, _("%(n)s d")), (3600, _("%(n)s h")), (60, _("%(n)s min")), (1, _("%(n)s s")))
    at = next(at for at, (unit, _word) in enumerate(parts) if seconds >= unit)
    (large, first), (small, second) = parts[at], parts[at + 1]
    rest = seconds % large // small
    return first % {"n": seconds // large} + (" " + second % {"n": rest} if rest else "")


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


def reason_words(reason: str) -> str:
    """Why a job was set aside, in an operator's words and language; a text that is none of ours as it is."""
    died = DIED.fullmatch(reason)
    if died:
        times, how = int(died["n"]), died["how"]
        words = ngettext("its process died %(n)s time", "its process died %(n)s times", times) % {"n": times}
        if how == "signal 9":
            return words + " " + _("(signal 9: killed, perhaps out of memory)")
        return words + (f" ({how})" if how else "")
    for pattern, text in REASONS:
        match = pattern.fullmatch(reason)
        if match:
            return str(text) % match.groupdict()
    return reason or _("no reason is known")


def control(instance: str, text: str = "") -> str:
    """``semaphore s3-upload, key eu``."""
    kind, name, key = split_instance(instance)
    shown = text or key
    return f"{kind} {name}" + (f", key {shown}" if shown else "")


def by_whom(record: dict[str, Any], now: int) -> str:
    """``by ann (maintenance), 5 min 2 s to go``."""
    by = str(record.get("by") or _("unknown"))
    if record.get("reason"):
        by += f" ({record['reason']})"
    until = record.get("until") or 0
    if isinstance(until, (int, float)) and until > 0:
        ends = {"by": by, "time": moment(until), "span": span(until - now)}
        return _("by %(by)s, until %(time)s (%(span)s to go)") % ends
    return _("by %(by)s, until somebody lifts it") % {"by": by}
