"""A time range in the address of a list: a span back from now, or moments that it begins and ends at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import QueryDict
from django.utils.translation import gettext as _

from dashboard import wording

SPANS = {"15m": 900, "1h": 3600, "6h": 21_600, "1d": 86_400}
"""Seconds back from now that the pages offer."""


def spans() -> list[tuple[str, str]]:
    """Each with its words."""
    return [
        (name, _("%(n)s min") % {"n": s // 60} if s < 3600 else _("%(n)s h") % {"n": s // 3600})
        for name, s in SPANS.items()
    ]


@dataclass(frozen=True, slots=True)
class Times:
    """``start`` and ``end`` in ms, 0 where the range is open; ``wrong`` says what could not be understood."""

    span: str
    start: int
    end: int
    wrong: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """What the field of the start shows: UTC, as ISO writes it."""
        return "" if self.span else _iso(self.start)

    @property
    def start_us(self) -> int:
        return self.start * 1000

    @property
    def end_us(self) -> int:
        return self.end * 1000

    @property
    def last(self) -> str:
        return _iso(self.end)


def asked(query: QueryDict, now: int) -> Times:
    """``span``, or ``from`` and ``to`` (ISO 8601, UTC when they name no zone). ``now`` in µs."""
    span = query.get("span", "")
    wrong: list[str] = []
    moments = {}
    for name in ("from", "to"):
        text = query.get(name, "").strip()
        moments[name] = _moment(text)
        if text and not moments[name]:
            wrong.append(
                _("“%(text)s” is no time: write 2026-03-12T14:32 (UTC).") % {"text": wording.visible(text[:40])}
            )
    if span in SPANS:
        return Times(span, now // 1000 - SPANS[span] * 1000, moments["to"], tuple(wrong))
    return Times("", moments["from"], moments["to"], tuple(wrong))


def _moment(text: str) -> int:
    """ms of an ISO time; 0 for anything else."""
    try:
        at = datetime.fromisoformat(text)
        return max(0, int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def _iso(ms: int) -> str:
    moment = wording.moment(ms * 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") if moment else ""
