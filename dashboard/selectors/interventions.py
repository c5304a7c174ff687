"""What people changed: the audit rows, newest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from queueops.models import Intervention

PAGE = 100


FIELDS, LONGEST = 40, 500
"""Facts of one row that are shown, and characters of one."""


@dataclass(frozen=True, slots=True)
class Change:
    """One fact before and after; "" where it was not there."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Row:
    """One intervention. ``at``, ``ends`` and ``ended_at`` in µs, 0 when there is none."""

    pk: int
    at: int
    actor: str
    verb: str
    target: str
    reason: str
    state: str
    error: str
    ends: int
    ended_at: int
    ended_by: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show; an empty field shows everything. ``target`` is a part of it, ``text`` of target or reason."""

    verb: str = ""
    actor: str = ""
    state: str = ""
    target: str = ""
    text: str = ""
    start: int = 0
    """Nothing older than this (ms); 0 = all."""
    end: int = 0

    @property
    def active(self) -> bool:
        return self != Filter()


@dataclass(frozen=True, slots=True)
class Page:
    """``after`` is ``<time>|<row>`` of the last row when more follow."""

    rows: tuple[Row, ...]
    after: str | None
    verbs: tuple[str, ...] = ()


def page(wanted: Filter, *, after: str = "", size: int = PAGE) -> Page:
    """Newest first; two SQL queries, no Redis."""
    rows = Intervention.objects.all()
    for name in ("verb", "actor", "state"):
        if value := getattr(wanted, name):
            rows = rows.filter(**{name: value})
    if wanted.target:
        rows = rows.filter(target__icontains=wanted.target)
    if wanted.start:
        rows = rows.filter(at__gte=datetime.fromtimestamp(wanted.start / 1000, UTC))
    if wanted.end:
        rows = rows.filter(at__lte=datetime.fromtimestamp(wanted.end / 1000, UTC))
    if wanted.text:
        rows = rows.filter(Q(target__icontains=wanted.text) | Q(reason__icontains=wanted.text))
    key = keyset(after)
    if key:
        rows = rows.filter(Q(at__lt=key[0]) | Q(at=key[0], pk__lt=key[1]))
    found = list(rows.order_by("-at", "-pk")[: size + 1])
    more, found = len(found) > size, found[:size]
    return Page(
        rows=tuple(map(_row, found)),
        after=f"{found[-1].at.isoformat()}|{found[-1].pk}" if more else None,
        verbs=tuple(Intervention.objects.order_by("verb").values_list("verb", flat=True).distinct()[:50]),
    )


def _row(r: Intervention) -> Row:
    return Row(
        r.pk, _micros(r.at), r.actor, r.verb, r.target, r.reason, r.state, r.error, _micros(r.ends),
        _micros(r.ended_at), r.ended_by, _changes(r.before, r.after),
    )  # fmt: skip


def _micros(at: datetime | None) -> int:
    return int(at.timestamp() * 1e6) if at else 0


def _changes(before: Any, after: Any) -> tuple[Change, ...]:
    """Field by field, what it was and what it became; nothing is said of what is empty on both sides."""
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    names = list(dict.fromkeys([*old, *new]))[:FIELDS]
    found = (Change(str(name), _plain(old.get(name)), _plain(new.get(name))) for name in names)
    return tuple(change for change in found if change.before or change.after)


def _plain(value: Any) -> str:
    if value in (None, "", [], {}):
        return ""
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))[:LONGEST]


def keyset(after: str) -> tuple[datetime, int] | None:
    """Where a page continues; None for text that says no such place."""
    moment, _bar, pk = after.partition("|")
    try:
        at = parse_datetime(moment)
    except ValueError:
        return None
    return (at, int(pk)) if at and at.tzinfo and pk.isascii() and pk.isdecimal() and len(pk) < 19 else None
