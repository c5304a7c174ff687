"""The changelog: one stream a server, newest first, paged by its ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from dashboard.selectors import store
from dashboard.selectors.locks import server_named
from queueops.conf import conf
from queueops.rdb.client import servers
from queueops.rdb.keys import split_instance

PAGE = 100
CHUNK = 2500
"""Entries read at a time while a filter looks for matches."""
EXPORTED = 1_000_000
"""Entries that an export looks at: as many as a changelog may keep."""
TRIPS = 4
"""A filtered page looks at CHUNK × TRIPS entries at most: the stream's default length."""

PREFIX = 8
"""Characters of an id that pages show: enough to look for it."""

_ID = re.compile(r"\d{1,15}-\d{1,19}")


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show; an empty field shows everything. ``event`` may be a subject (``lock``) or an event.

    A function is also found by the last part of its name, a job and a worker by the first 8 characters or more.
    """

    event: str = ""
    queue: str | None = None
    function: str = ""
    job: str = ""
    control: str = ""
    about: str = ""
    """A part of the readable name or key of a control."""
    worker: str = ""
    by: str = ""
    text: str = ""
    start: int = 0
    """Nothing older than this (ms of the store's clock); 0 = all that is kept."""
    end: int = 0
    """Nothing newer than this (ms); 0 = up to now."""

    @property
    def active(self) -> bool:
        return any(getattr(self, field.name) not in ("", None, 0) for field in fields(self))

    def passes(self, entry: Entry) -> bool:
        return (
            (not self.event or entry.event == self.event or entry.event.startswith(self.event + "."))
            and (self.queue is None or entry.queue == self.queue)
            and (not self.function or f".{entry.function}".endswith(f".{self.function}"))
            and (not self.job or _begins(entry.job, self.job))
            and (not self.control or entry.instance == self.control or entry.instance.startswith(self.control + "\x1f"))
            and (not self.about or self.about.casefold() in f"{entry.control_name} {entry.key}".casefold())
            and (not self.worker or _begins(entry.worker, self.worker))
            and (not self.by or entry.by == self.by)
            and (not self.text or self.text.casefold() in entry.haystack)
        )


def _begins(value: str, wanted: str) -> bool:
    return value == wanted or (len(wanted) >= PREFIX and value.startswith(wanted))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. ``at`` in µs of the store's clock; ``instance`` is the control with its key."""

    id: str
    at: int
    event: str
    job: str
    function: str
    queue: str
    instance: str
    worker: str
    token: str
    by: str
    why: str

    @property
    def control(self) -> str:
        return self.instance.partition("\x1f")[0]

    @property
    def control_name(self) -> str:
        kind, name, _key = split_instance(self.instance)
        return name if kind != "unknown" else self.instance

    @property
    def key(self) -> str:
        return self.instance.partition("\x1f")[2]

    @property
    def haystack(self) -> str:
        parts = (self.event, self.job, self.function, self.queue, self.instance, self.worker, self.by, self.why)
        return "\n".join(parts).casefold()


@dataclass(frozen=True, slots=True)
class Page:
    """``before`` continues with older entries; ``looked_at`` entries were read for it."""

    server: str
    servers: tuple[str, ...]
    entries: tuple[Entry, ...]
    length: int
    looked_at: int
    before: str | None
    newest: str


def _entry(id_: Any, raw: dict[Any, Any]) -> Entry:
    got = {store.text(key): store.text(value) for key, value in raw.items()}
    ident = store.text(id_)
    return Entry(
        ident,
        store.number(ident.partition("-")[0]) * 1000,
        *(got.get(k, "") for k in ("e", "job", "f", "q", "c", "w", "t", "by", "why")),
    )


def page(wanted: Filter, *, alias: str = "", before: str = "", size: int = PAGE) -> Page:
    """Entries that pass, older than the id ``before``. One round trip, up to TRIPS when a filter is set."""
    server = server_named(alias) or servers()[0]
    log = store.keys().static("log")
    end = f"({before}" if _ID.fullmatch(before) else _newest(wanted)
    found: list[Entry] = []
    length = looked_at = 0
    cursor: str | None = None
    count = CHUNK if wanted.active else size + 1
    for _trip in range(TRIPS if wanted.active else 1):

        def fill(pipe: Any, end: str = end) -> None:
            pipe.xlen(log).xrevrange(log, end, wanted.start or "-", count=count)

        answers = store.ask(server, fill)
        length = store.number(answers[0])
        raw = answers[1] if isinstance(answers[1], list) else []
        cursor = None
        for id_, fields_ in raw:
            if len(found) == size:
                cursor = found[-1].id
                break
            looked_at += 1
            entry = _entry(id_, fields_)
            if wanted.passes(entry):
                found.append(entry)
        if cursor or len(raw) < count:
            break
        cursor = store.text(raw[-1][0])
        end = f"({cursor}"
    names = tuple(s.alias for s in servers())
    newest = found[0].id if found and not before else ""
    return Page(server.alias, names, tuple(found), length, looked_at, cursor, newest)


def _newest(wanted: Filter) -> str:
    return str(wanted.end) if wanted.end else "+"


def stream(wanted: Filter, *, alias: str = "") -> Iterator[Entry]:
    """Every entry that passes, newest first, read a chunk at a time; at most ``EXPORTED`` are looked at."""
    server = server_named(alias) or servers()[0]
    log, end = store.keys().static("log"), _newest(wanted)
    for _chunk in range(EXPORTED // CHUNK):
        with store.guard(server):
            raw = server.connection.xrevrange(log, end, wanted.start or "-", count=CHUNK)
        yield from (entry for id_, fields_ in raw if wanted.passes(entry := _entry(id_, fields_)))
        if len(raw) < CHUNK:
            return
        end = f"({store.text(raw[-1][0])}"


def of_lock(alias: str, instance: str) -> tuple[Entry, ...]:
    """The history of one lock, semaphore or rate, newest first: it is kept apart and outlives the lock for a while."""
    server, key = server_named(alias) or servers()[0], store.keys().of("history", instance)
    (raw,) = store.ask(server, lambda pipe: pipe.xrevrange(key, count=max(conf.LOCK_HISTORY, 1)))
    return tuple(_entry(id_, fields_) for id_, fields_ in raw) if isinstance(raw, list) else ()


def of_job(alias: str, job: str, size: int = 50) -> tuple[Entry, ...]:
    """The newest entries about one job, oldest first."""
    return tuple(reversed(page(Filter(job=job), alias=alias, size=size).entries))
