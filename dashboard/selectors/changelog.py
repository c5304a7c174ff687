"""The changelog: one stream a server, newest first, paged by its ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import store
from dashboard.selectors.locks import server_named
from dashboard.selectors.log_entries import Entry, entries, entry
from dashboard.selectors.log_filter import Filter
from queueops.rdb.client import servers
from queueops.telemetry.batch import Batch

PAGE = 100
LOOKS = (1_000, 9_000)
"""Entries looked at in each trip of a filtered page: together the stream's default length."""
CHUNK = 5_000
"""Entries that an export reads at a time."""
EXPORTED = 1_000_000
"""Entries that an export looks at: as many as a changelog may keep."""

SKEW = 3_600_000
"""ms that a clock may differ from the store's."""

_ID = re.compile(r"\d{1,15}-\d{1,19}")


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


def page(wanted: Filter, *, alias: str = "", before: str = "", size: int = PAGE) -> Page:
    """Entries that pass, older than the id ``before``. One round trip, up to two when a filter is set."""
    server = server_named(alias) or servers()[0]
    log = store.keys().static("log")
    end = f"({before}" if _ID.fullmatch(before) else _newest(wanted)
    found: list[Entry] = []
    length = looked_at = 0
    cursor: str | None = None
    passes = wanted.test
    for count in LOOKS if wanted.active else (size + 1,):

        def fill(pipe: Any, end: str = end, count: int = count) -> None:
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
            if passes(fields_):
                found.append(entry(id_, fields_))
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
    log, end, passes = store.keys().static("log"), _newest(wanted), wanted.test
    for _chunk in range(EXPORTED // CHUNK):
        with store.guard(server):
            raw = server.connection.xrevrange(log, end, wanted.start or "-", count=CHUNK)
        yield from (entry(id_, fields_) for id_, fields_ in raw if passes(fields_))
        if len(raw) < CHUNK:
            return
        end = f"({store.text(raw[-1][0])}"


class JobLog:
    """What the changelog says of one job, in a batch with other reads."""

    def __init__(self, batch: Batch, id_: str, created: int) -> None:
        """``created``: when the job was made, by its maker's clock (µs); 0 when unknown."""
        self._wanted = id_.encode("utf-8", "replace")
        start = max(0, created // 1000 - SKEW) if created else "-"
        self._slot = batch.call("xrevrange", store.keys().static("log"), "+", start, count=sum(LOOKS))

    def entries(self, size: int = 50) -> tuple[Entry, ...]:
        """The newest, oldest first."""
        found = [each for each in self._slot.get([]) if each[1].get(b"job") == self._wanted][:size]
        return entries(reversed(found))
