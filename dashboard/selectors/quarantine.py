"""The quarantine from its SQL copy: filters with counts, one page by keyset. It works while Redis is away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from queueops.models import QuarantinedJob

PAGE = 50
FACETS = 12
TEXT = 1500
"""Characters of a description or error shown in the list: the beginning of one, the end of the other."""

FIELDS = ("reason", "queue", "function", "fingerprint", "age")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AGES: dict[str, tuple[timedelta, timedelta | None]] = {
    "1h": (timedelta(0), HOUR),
    "1d": (HOUR, DAY),
    "7d": (DAY, 7 * DAY),
    "older": (7 * DAY, None),
}
"""Kept for at least and less than so long."""


@dataclass(frozen=True, slots=True)
class Filter:
    """None means any; an empty text is a value like others."""

    reason: str | None = None
    queue: str | None = None
    function: str | None = None
    fingerprint: str | None = None
    """Of its error: jobs that failed at the same place in the same way."""
    age: str | None = None
    """One of ``AGES``."""

    @property
    def active(self) -> bool:
        return self != Filter()

    def as_dict(self) -> dict[str, str]:
        return {k: v for k in FIELDS if (v := getattr(self, k)) is not None}

    def conditions(self) -> Q:
        """What it means in SQL."""
        found = Q(**{name: value for name, value in self.as_dict().items() if name != "age"})
        if self.age in AGES:
            least, most = AGES[self.age]
            now = timezone.now()
            found &= Q(quarantined_at__lte=now - least)
            found &= Q(quarantined_at__gt=now - most) if most else Q()
        return found


@dataclass(frozen=True, slots=True)
class Facet:
    value: str
    count: int
    chosen: bool
    text: str = ""
    """How it is shown, where the value itself says little."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kept job. Times in µs; ``error`` is the last line of ``traceback``."""

    pk: int
    server: str
    job: str
    queue: str
    function: str
    reason: str
    error: str
    traceback: str
    attempts: int
    crashes: int
    replays: int
    at: int
    description: str


@dataclass(frozen=True, slots=True)
class Page:
    rows: tuple[Row, ...]
    matching: int
    total: int
    facets: tuple[tuple[str, tuple[Facet, ...]], ...]
    after: str | None
    first: int


def _kept() -> QuerySet[QuarantinedJob]:
    return QuarantinedJob.objects.filter(state=QuarantinedJob.State.QUARANTINED)


def _matching(wanted: Filter) -> QuerySet[QuarantinedJob]:
    return _kept().filter(wanted.conditions())


def _ages(wanted: Filter) -> tuple[Facet, ...]:
    rows = _kept().filter(replace(wanted, age=None).conditions())
    counted = rows.aggregate(**{f"n{name}": Count("id", filter=Filter(age=name).conditions()) for name in AGES})
    return tuple(
        Facet(name, n, name == wanted.age) for name in AGES if (n := counted[f"n{name}"]) or name == wanted.age
    )


def _errors(wanted: Filter) -> tuple[Facet, ...]:
    """The same error is one line, told by its newest text."""
    rows = _kept().filter(replace(wanted, fingerprint=None).conditions()).exclude(fingerprint="")
    counted = rows.values_list("fingerprint").annotate(n=Count("id"), newest=Max("id")).order_by("-n", "fingerprint")
    found = list(counted[:FACETS])
    texts = dict(QuarantinedJob.objects.filter(pk__in=[pk for _, _, pk in found]).values_list("pk", "error"))
    return tuple(
        Facet(value, n, value == wanted.fingerprint, _last_line(texts.get(pk, "")) or value) for value, n, pk in found
    )


def _last_line(error: str) -> str:
    lines = [line for line in error.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _facet(name: str, wanted: Filter) -> tuple[Facet, ...]:
    """Counts of one field under the other filters, so that each shows what choosing it would give."""
    others = replace(wanted, **{name: None}).conditions()
    counted = _kept().filter(others).values_list(name).annotate(n=Count("id")).order_by("-n", name)[:FACETS]
    chosen = getattr(wanted, name)
    return tuple(Facet(value, count, value == chosen) for value, count in counted)


def _row(job: QuarantinedJob) -> Row:
    return Row(
        pk=job.pk,
        server=job.server,
        job=job.job_id,
        queue=job.queue,
        function=job.function,
        reason=job.reason,
        error=_last_line(job.error),
        traceback=job.error[-TEXT:],
        attempts=job.attempts,
        crashes=job.crashes,
        replays=job.replays,
        at=int(job.quarantined_at.timestamp() * 1e6),
        description=job.description[:TEXT],
    )


def page(wanted: Filter, *, after: str = "", size: int = PAGE) -> Page:
    """Newest first; ``after`` is ``<time>|<row>`` of the last row seen. Nine SQL queries, no Redis."""
    matching = _matching(wanted)
    rows = matching.defer("payload")
    key = _keyset(after)
    if key:
        rows = rows.filter(Q(quarantined_at__lt=key[0]) | Q(quarantined_at=key[0], pk__lt=key[1]))
    found = list(rows.order_by("-quarantined_at", "-pk")[: size + 1])
    more = len(found) > size
    found = found[:size]
    last = found[-1] if found else None
    count = matching.count()
    return Page(
        rows=tuple(_row(job) for job in found),
        matching=count,
        total=_kept().count() if wanted.active else count,
        facets=(
            ("reason", _facet("reason", wanted)),
            ("fingerprint", _errors(wanted)),
            ("function", _facet("function", wanted)),
            ("queue", _facet("queue", wanted)),
            ("age", _ages(wanted)),
        ),
        after=f"{last.quarantined_at.isoformat()}|{last.pk}" if more and last else None,
        first=1 if not key else 0,
    )


def _keyset(after: str) -> tuple[datetime, int] | None:
    moment, _bar, pk = after.partition("|")
    try:
        at = parse_datetime(moment)
    except ValueError:
        return None
    return (at, int(pk)) if at and pk.isdecimal() and len(pk) < 19 else None


def of_job(job: str) -> dict[str, Any] | None:
    """What the SQL copy knows of one job: its state there and what it was replayed as."""
    found = QuarantinedJob.objects.filter(job_id=job).order_by("-quarantined_at").defer("payload").first()
    if found is None:
        return None
    return {"row": _row(found), "state": found.state, "replayed_as": found.replayed_as, "error": found.error}


def ids(wanted: Filter, *, most: int) -> tuple[str, ...] | None:
    """All matching job ids, oldest first; None when there are more than ``most``."""
    found = _matching(wanted).order_by("quarantined_at", "pk").values_list("job_id", flat=True)[: most + 1]
    chosen = tuple(dict.fromkeys(found))
    return None if len(chosen) > most else chosen
