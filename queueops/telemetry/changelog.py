"""Pages of the changelog, newest first, by stream id; a filter looks through a bounded number of entries."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import split_instance
from queueops.telemetry.batch import shown

if TYPE_CHECKING:
    from queueops.rdb.client import Server

SCAN = 10_000
"""Entries that a filter looks through at most; the page says so when that was not all."""
READS = (4_000, 3_000, 3_000)
"""Entries per round trip of a filtered page: no single read is long."""
ID = re.compile(r"\d{1,20}-\d{1,20}")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event. ``at`` in µs (the stream's ms). ``extra`` holds what has no name of its own."""

    id: str
    at: int
    event: str
    job: str = ""
    function: str = ""
    queue: str = ""
    instance: str = ""
    kind: str = ""
    control: str = ""
    key: str = ""
    worker: str = ""
    token: str = ""
    actor: str = ""
    reason: str = ""
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Empty fields match everything. ``event`` is a whole event or its subject; ``text`` is looked for everywhere."""

    event: str = ""
    job: str = ""
    function: str = ""
    queue: str = ""
    control: str = ""
    instance: str = ""
    worker: str = ""
    actor: str = ""
    text: str = ""

    @property
    def empty(self) -> bool:
        return self == LogFilter()

    def matches(self, entry: LogEntry) -> bool:
        exact = (
            (self.job, entry.job),
            (self.function, entry.function),
            (self.queue, entry.queue),
            (self.control, entry.control),
            (self.instance, entry.instance),
            (self.worker, entry.worker),
            (self.actor, entry.actor),
        )
        if any(wanted and wanted != got for wanted, got in exact):
            return False
        if self.event and entry.event != self.event and not entry.event.startswith(f"{self.event}."):
            return False
        return not self.text or self.text.casefold() in _everything(entry)


@dataclass(frozen=True, slots=True)
class LogPage:
    """``next`` is the id to continue before; ``cut`` when the filter's bound was met before the page was full."""

    rows: tuple[LogEntry, ...]
    next: str | None
    newest: str | None
    scanned: int
    cut: bool = False


NAMES = {
    "e": "event",
    "job": "job",
    "f": "function",
    "q": "queue",
    "c": "instance",
    "w": "worker",
    "t": "token",
    "by": "actor",
    "why": "reason",
}


def entry_of(raw_id: Any, raw: Any) -> LogEntry:
    """An entry of the stream; unknown fields are kept as extra."""
    fields = {shown(k): shown(v) for k, v in (raw or {}).items()}
    known: dict[str, Any] = {NAMES[k]: v for k, v in fields.items() if k in NAMES}
    entry_id = shown(raw_id)
    if known.get("instance"):
        kind, name, key = split_instance(known["instance"])
        known.update(kind=kind, key=key, control=known["instance"][:2] + name)
    extra = tuple(sorted((k, v) for k, v in fields.items() if k not in NAMES))
    ms = int(entry_id.partition("-")[0] or 0)
    return LogEntry(id=entry_id, at=ms * 1000, **{"event": "", **known}, extra=extra)


def _everything(entry: LogEntry) -> str:
    parts = (entry.event, entry.job, entry.function, entry.queue, entry.instance, entry.worker, entry.actor)
    return "\n".join((*parts, entry.reason, *(v for _, v in entry.extra))).casefold()


def page(server: Server, *, before: str | None = None, wanted: LogFilter | None = None, size: int = 100) -> LogPage:
    """Entries older than the id ``before``: one round trip, or up to three when filtered. A bad id is the newest."""
    keep: Callable[[LogEntry], bool] = wanted.matches if wanted and not wanted.empty else lambda entry: True
    filtered = wanted is not None and not wanted.empty
    at = f"({before}" if before and ID.fullmatch(before) else "+"
    rows: list[LogEntry] = []
    newest, scanned, ended = None, 0, False
    for count in READS if filtered else (size + 1,):
        got = server.connection.xrevrange(conf.keys.static("log"), at, "-", count=count) or []
        for raw_id, fields in got:
            entry = entry_of(raw_id, fields)
            newest = newest or entry.id
            scanned += 1
            if keep(entry):
                rows.append(entry)
                if len(rows) > size:
                    break
        ended = len(got) < count
        if ended or len(rows) > size:
            break
        at = f"({shown(got[-1][0])}"
    if len(rows) > size:
        return LogPage(tuple(rows[:size]), rows[size - 1].id, newest, scanned)
    return LogPage(tuple(rows), None if ended else at[1:], newest, scanned, cut=not ended)


def newer(server: Server, after: str, *, size: int = 100) -> tuple[LogEntry, ...]:
    """Entries newer than the id ``after``, oldest first, at most ``size``; one round trip."""
    if not ID.fullmatch(after):
        return ()
    got = server.connection.xrange(conf.keys.static("log"), f"({after}", "+", count=size) or []
    return tuple(entry_of(raw_id, fields) for raw_id, fields in got)
