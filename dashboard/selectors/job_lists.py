"""A page of jobs in one state, over one queue or all of all servers, from the plain fields of their hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dashboard.selectors import snapshots, store
from queueops.rdb.client import Server, server_of, servers
from queueops.telemetry.job_pages import (
    LOOK,
    PARTS,
    STATES,
    CronEntry,
    Cursor,
    JobFilter,
    JobSlice,
    cron_entries,
    read,
    tags,
)
from queueops.telemetry.job_pages import JobRow as Found

PAGE = 50
LOOKED = 2 * LOOK
"""Entries that one filtered page looks at on each server."""
TABS = ("queued", "parked", "running", "scheduled", "retries", "deferred", "failed", "quarantined", "recurring")
NEWEST_FIRST = ("failed", "quarantined")


@dataclass(frozen=True, slots=True)
class JobRow:
    """One line of a list. Times in µs, 0 when unknown; ``gone`` when the hash no longer exists."""

    server: str
    id: str
    state: str
    function: str
    queue: str
    description: str
    since: int
    attempts: int
    failures: int
    retries_left: str
    parked: str
    worker: str
    error: str
    fingerprint: str
    tags: tuple[str, ...]
    repeats_left: int
    gone: bool
    due: int = 0
    age: float | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """How many; ``more`` when only a part was looked at."""

    number: int | None
    more: bool = False


@dataclass(frozen=True, slots=True)
class JobPage:
    """``counts`` by tab. ``after`` and ``before`` continue in either direction, None at the ends.

    ``looked`` of ``total`` entries were looked at for a page with a filter.
    """

    tab: str
    wanted: JobFilter
    rows: tuple[JobRow, ...]
    counts: Mapping[str, Count]
    looked: int
    total: int | None
    after: str | None
    before: str | None
    down: tuple[store.Down, ...] = ()
    cron: tuple[CronEntry, ...] = ()
    now: int = 0

    @property
    def tabs(self) -> list[tuple[str, Count | None]]:
        return [(tab, self.counts.get(tab)) for tab in TABS]

    @property
    def unsure(self) -> bool:
        """Whether it is not known how many match."""
        return (self.wanted.active or self.tab in ("retries", "recurring")) and not self.whole

    @property
    def matching(self) -> int:
        """How many match, at most."""
        return len(self.rows) if self.whole else self.total or len(self.rows)

    @property
    def whole(self) -> bool:
        """Whether the page shows all that match."""
        return self.after is None and self.before is None


def state_of(tab: str) -> str:
    """The list behind a tab, as filters name it."""
    return "repeats" if tab == "recurring" else tab


def counts(queue: str | None) -> dict[str, Count]:
    """Counts of the states by the shared snapshot."""
    state = snapshots.current()
    rows = [row for row in state.queues if queue is None or row.name == queue]
    if not rows:
        return {}
    found = {s: Count(sum(row.open.get(s, 0) for row in rows)) for s in STATES[:5]}
    return found | {
        "failed": Count(sum(row.failed for row in rows)),
        "quarantined": Count(sum(row.quarantined for row in rows)),
    }


@dataclass(slots=True)
class _Answers:
    """What the servers said, in their order."""

    slices: list[tuple[int, JobSlice]] = field(default_factory=list)
    down: list[store.Down] = field(default_factory=list)


def page(tab: str, wanted: JobFilter, *, after: str = "", before: str = "", size: int = PAGE) -> JobPage:
    """One round trip a server; the same at any depth and with any filter."""
    places: Sequence[Server] = [server_of(wanted.queue)] if wanted.queue is not None else servers()
    alias, _, text = (before or after).partition("~")
    cursor, back = Cursor.read(text), bool(before)
    at = next((i for i, server in enumerate(places) if server.alias == alias), 0)
    reading = _Reading(places, wanted, size, at)
    answers = reading.ask(cursor, back)
    if back and not any(found.left for _, found in answers.slices):
        # the beginning: shown as the first page, which is full
        cursor, back = None, False
        answers = reading.ask(None, False)
    rows, head, tail = reading.merge(answers, back)
    known = counts(wanted.queue)
    cron: tuple[CronEntry, ...] = ()
    for i, found in answers.slices:
        cron += tuple(
            entry
            for entry in cron_entries(places[i].alias, found.cron)
            if wanted.queue is None or entry.queue == wanted.queue
        )
    sampled = [found for _, found in answers.slices if found.sampled]
    if sampled:
        part = not all(found.sampled_all for found in sampled)
        known["retries"] = Count(sum(found.retries for found in sampled), part)
        known["recurring"] = Count(sum(found.repeats for found in sampled) + len(cron), part)
    base = known.get(PARTS.get(wanted.state, (wanted.state, ""))[0])
    now = max((found.now for _, found in answers.slices), default=0)
    return JobPage(
        tab=tab,
        wanted=wanted,
        rows=tuple(_row(row, now) for row in rows),
        counts=known,
        looked=sum(found.looked for _, found in answers.slices),
        total=base.number if base else None,
        after=tail,
        before=head if cursor is not None or back else None,
        down=tuple(answers.down),
        cron=cron,
        now=now,
    )


class _Reading:
    """The servers asked for one page, and their answers put in one order."""

    def __init__(self, places: Sequence[Server], wanted: JobFilter, size: int, at: int) -> None:
        self.places, self.wanted, self.size, self.at = places, wanted, size, at
        self.in_turn = wanted.state == "queued"
        """Lists have no common order: one server follows the other."""
        self._names = {
            server.alias: [wanted.queue]
            if wanted.queue is not None
            else sorted({*server.queues, *(r.name for r in snapshots.current().queues if r.server == server.alias)})
            for server in places
        }

    def ask(self, cursor: Cursor | None, back: bool) -> _Answers:
        answers = _Answers()
        order = list(range(len(self.places)))
        if self.in_turn and cursor is not None:
            order = order[self.at :] if not back else order[: self.at + 1]
        rows = 0
        for i in order[::-1] if back else order:
            try:
                found = self._one(i, cursor, back, self.size - rows if self.in_turn else self.size)
            except store.StoreDown as error:
                answers.down.append(error.down)
                continue
            answers.slices.append((i, found))
            rows += len(found.rows)
            if self.in_turn and (found.left or rows >= self.size):
                break
        answers.slices.sort(key=lambda pair: pair[0])
        return answers

    def _one(self, i: int, cursor: Cursor | None, back: bool, size: int) -> JobSlice:
        server, names = self.places[i], self._names[self.places[i].alias]
        edge = (i < self.at) - (i > self.at)
        if self.in_turn and edge:
            cursor, edge = None, 0
        with store.guard(server):
            return read(
                server, self.wanted, names, cursor=cursor, back=back, size=size, budget=LOOKED, sample=True, edge=edge
            )

    def merge(self, answers: _Answers, back: bool) -> tuple[list[Found], str | None, str | None]:
        """``(rows, place of the first, place of the last when more follow)``, in the order of the list."""
        if len(answers.slices) == 1 or self.in_turn:
            return self._joined(answers, back)
        sign = -1 if self.wanted.state in NEWEST_FIRST else 1
        way = -sign if back else sign

        def key(i: int, place: Cursor) -> tuple[float, int]:
            return way * float(place.score), way * i

        # beyond the place where one server stopped looking, others' rows are not known to be next
        stops = [
            (key(i, place), i, place)
            for i, found in answers.slices
            if found.left and (place := found.first if back else found.last)
        ]
        limit = min((stop[0] for stop in stops), default=None)
        merged = [
            (key(i, row.place), i, row)
            for i, found in answers.slices
            for row in (found.rows[::-1] if back else found.rows)
        ]
        merged.sort(key=lambda item: item[0])
        kept = [item for item in merged if limit is None or item[0] <= limit]
        rows = kept[: self.size]
        cut = len(rows) < len(merged)
        end: str | None = None
        if cut and (len(kept) > self.size or limit is None):
            end = self._text(rows[-1][1], rows[-1][2].place)
        elif stops:
            _, i, place = min(stops, key=lambda stop: stop[0])
            end = self._text(i, place)
        start = self._text(rows[0][1], rows[0][2].place) if rows else None
        found_rows = [row for _, _, row in rows]
        return (found_rows[::-1], end, start) if back else (found_rows, start, end)

    def _joined(self, answers: _Answers, back: bool) -> tuple[list[Found], str | None, str | None]:
        rows = [row for _, found in answers.slices for row in found.rows]
        head = next((self._text(i, found.first) for i, found in answers.slices if found.first), None)
        tail = next((self._text(i, found.last) for i, found in answers.slices[::-1] if found.last), None)
        if back:
            return rows, head if any(found.left for _, found in answers.slices) else None, tail
        left = any(found.left for _, found in answers.slices)
        if self.in_turn and answers.slices and answers.slices[-1][0] < len(self.places) - 1 and not left:
            left = len(rows) >= self.size
        return rows, head, tail if left else None

    def _text(self, i: int, place: Cursor) -> str:
        return f"{self.places[i].alias}~{place.text()}"


def _row(found: Found, now: int) -> JobRow:
    got, listed = found.fields, found.listed
    state = job_state(got.get("status", ""), "parked" in got, "quarantined" in got)
    said = str(found.info.get("error") or "") or got.get("error", "")
    return JobRow(
        server=found.server,
        id=found.id,
        state="gone" if found.gone else (listed if listed not in ("scheduled", "failed") else state),
        function=got.get("function", ""),
        queue=found.queue,
        description=found.description or (f"({found.size:,} bytes)" if found.size else ""),
        since=found.begun,
        attempts=store.number(got.get("attempts")),
        failures=store.number(got.get("failures")),
        retries_left=got.get("retries_left", ""),
        parked=got.get("parked", ""),
        worker=got.get("worker", ""),
        error=said or got.get("quarantined", ""),
        fingerprint=got.get("fingerprint", ""),
        tags=tags(got.get("tags", "")),
        repeats_left=store.number(got.get("repeats_left")),
        gone=found.gone,
        due=store.number(float(found.place.score) * 1e6) if listed == "scheduled" else 0,
        age=max(0.0, (now - found.begun) / 1e6) if found.begun else None,
    )


def job_state(status: str, parked: bool, quarantined: bool) -> str:
    """The state of the glossary behind RQ's status and our marks."""
    if quarantined and status == "failed":
        return "quarantined"
    if parked and status == "scheduled":
        return "parked"
    return {"started": "running", "finished": "completed", "created": "scheduled", "ready_to_enqueue": "queued"}.get(
        status, status or "unknown"
    )
