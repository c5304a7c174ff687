"""The quarantine from its SQL copy: filters with counts, one page by keyset. It works while Redis is away."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from queueops.models import QuarantinedJob

PAGE = 50
FACETS = 12
LOOKED = 5_000
"""Jobs among which facets are counted, the newest."""
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
    counted: int
    """Of ``total``: the newest, among which the facets are counted."""


def _kept() -> QuerySet[QuarantinedJob]:
    return QuarantinedJob.objects.filter(state=QuarantinedJob.State.QUARANTINED)


def _matching(wanted: Filter) -> QuerySet[QuarantinedJob]:
    return _kept().filter(wanted.conditions())


class _Facets:
    """Counts of each field under the other filters, so that each shows what choosing it would give.

    They are counted among the newest ``LOOKED`` jobs, read once.
    """

    def __init__(self, wanted: Filter) -> None:
        self._wanted = wanted if wanted.age in AGES else replace(wanted, age=None)
        self._chosen = self._wanted.as_dict()
        now = timezone.now()
        ages = [When(quarantined_at__gt=now - most, then=Value(name)) for name, (_, most) in AGES.items() if most]
        rows = _kept().annotate(age=Case(*ages, default=Value("older"))).order_by("-quarantined_at", "-pk")
        known = list(rows.values_list(*FIELDS, "pk")[:LOOKED])
        chosen = [(FIELDS.index(name), value) for name, value in self._chosen.items()]
        matching, beside = [], []
        for row in known:
            missed = [at for at, value in chosen if row[at] != value] if chosen else None
            if not missed:
                matching.append(row)
            elif len(missed) == 1:
                beside.append((missed[0], row))
        self.looked, self.matching = len(known), len(matching)
        self._counts = {name: Counter(row[at] for row in matching) for at, name in enumerate(FIELDS)}
        for at, row in beside:
            self._counts[FIELDS[at]][row[at]] += 1
        at = FIELDS.index("fingerprint")
        self._newest = {row[at]: row[-1] for row in reversed(known)}

    def all(self, *, partial: bool) -> tuple[tuple[str, tuple[Facet, ...]], ...]:
        """Each field with its values, most frequent first; ``partial``: there are more jobs than were looked at."""
        del self._counts["fingerprint"][""]
        found = {name: self._of(name) for name in FIELDS}
        ages = (Facet(a, self._counts["age"][a], a == self._wanted.age) for a in AGES)
        found["age"] = tuple(f for f in ages if f.count or f.chosen or partial)
        ids = [self._newest[f.value] for f in found["fingerprint"] if f.value in self._newest]
        texts = dict(QuarantinedJob.objects.filter(pk__in=ids).values_list("fingerprint", "error"))
        # the same error is one line, told by its newest text
        found["fingerprint"] = tuple(
            replace(f, text=_last_line(texts.get(f.value, "")) or f.value) for f in found["fingerprint"]
        )
        return tuple((name, found[name]) for name in ("reason", "fingerprint", "function", "queue", "age"))

    def _of(self, name: str) -> tuple[Facet, ...]:
        ordered = sorted(self._counts[name].items(), key=lambda pair: (-pair[1], pair[0]))[:FACETS]
        return tuple(Facet(value, n, value == self._chosen.get(name)) for value, n in ordered)


def _last_line(error: str) -> str:
    lines = [line for line in error.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


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
    """Newest first; ``after`` is ``<time>|<row>`` of the last row seen. Five SQL queries, no Redis."""
    matching = _matching(wanted)
    rows = matching.defer("payload")
    key = _keyset(after)
    if key:
        rows = rows.filter(Q(quarantined_at__lt=key[0]) | Q(quarantined_at=key[0], pk__lt=key[1]))
    found = list(rows.order_by("-quarantined_at", "-pk")[: size + 1])
    more = len(found) > size
    found = found[:size]
    last = found[-1] if found else None
    facets, total = _Facets(wanted), _kept().count()
    partial = facets.looked < total
    count = matching.count() if partial and wanted.active else total if partial else facets.matching
    return Page(
        rows=tuple(_row(job) for job in found),
        matching=count,
        total=total,
        facets=facets.all(partial=partial),
        counted=facets.looked,
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
