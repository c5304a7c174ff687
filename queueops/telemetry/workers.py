"""Workers: busy, idle or silent; what they run; how old they are.

Known from RQ's registry and from the signs of life that our doors write. *Silent* is a worker that is registered (or
holds a lease) and has given no sign for longer than its kind is bound to; nothing is concluded from a host's clock
where Redis time exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.telemetry.batch import Batch, decoded, number, shown, text
from queueops.telemetry.clock import age, from_iso, from_time
from queueops.telemetry.discovery import QueueSearch

if TYPE_CHECKING:
    from queueops.rdb.client import Server

MAX_WORKERS = 2000
SILENT_OURS = 30.0
"""Seconds without a sign from a worker that passes our doors: it renews or claims many times in that time."""
SILENT_RQ_BUSY = 120.0
"""A plain RQ worker beats every 30 s while a job runs."""
SILENT_RQ_IDLE = 480.0
"""A plain RQ worker that waits beats once in about 400 s."""
FIELDS = (
    "state",
    "queues",
    "birth",
    "last_heartbeat",
    "hostname",
    "pid",
    "version",
    "shutdown_requested_date",
    "death",
)


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker. ``age`` and ``quiet`` (since its last sign) in seconds; ``state`` is busy, idle or silent."""

    name: str
    state: str
    queues: tuple[str, ...]
    job: str | None
    function: str | None
    job_age: float | None
    age: float | None
    quiet: float | None
    host: str
    pid: str
    version: str
    ours: bool
    stopping: bool = False
    gone: bool = False
    quieted: str = ""
    """Who told it to start nothing new; "" when nobody did."""
    in_process: bool = False
    """It runs its job in its own process: the job cannot be killed alone."""


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """``known`` names were found; ``looked_at`` of them were judged: not those that have left, nor too many."""

    busy: int = 0
    idle: int = 0
    silent: int = 0
    known: int = 0
    looked_at: int = 0


@dataclass(frozen=True, slots=True)
class WorkerPage:
    """One page, by name; ``next`` is the name to continue after."""

    rows: tuple[WorkerInfo, ...]
    counts: WorkerCounts
    next: str | None


def split_queues(raw: str, known: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    """RQ's comma-separated queue list; names that contain commas are put together again when they are known."""
    parts, names, at = raw.split(",") if raw else [], [], 0
    while at < len(parts):
        length = next((n for n in range(len(parts) - at, 1, -1) if ",".join(parts[at : at + n]) in known), 1)
        names.append(",".join(parts[at : at + length]))
        at += length
    return tuple(names)


def judge(ours_sign: int | None, fields: Sequence[Any], now: int) -> tuple[str, float | None]:
    """``(state, seconds since the last sign)`` from our own sign of life (µs) and the fields of RQ's worker hash."""
    state = text(fields[0]) or ""
    beat = from_iso(fields[3])
    signs = [sign for sign in (ours_sign, beat) if sign is not None]
    quiet = age(max(signs), now) if signs else None
    limit = SILENT_OURS if ours_sign is not None else SILENT_RQ_BUSY if state == "busy" else SILENT_RQ_IDLE
    if quiet is None or quiet > limit or (not state and ours_sign is None):
        return "silent", quiet
    return ("busy" if state == "busy" else "idle"), quiet


@dataclass(frozen=True, slots=True)
class _Found:
    """One worker as it is kept."""

    sign: int | None
    registered: bool
    quiet: bytes
    run: bytes
    lease: bytes
    fields: Sequence[Any]

    @property
    def job(self) -> str | None:
        """An execution is named by its job and the token of its lease."""
        job, colon, _ = (text(self.run) or "").rpartition(":")
        return job if colon else None


class WorkerReader:
    """All workers in one answer of a script; ``jobs``: with what they run."""

    def __init__(self, batch: Batch, *, jobs: bool = False) -> None:
        self._slot = batch.script("list_workers", MAX_WORKERS, int(jobs), *FIELDS)

    def rows(self, now: int, queues: frozenset[str]) -> list[WorkerInfo]:
        """The workers judged at ``now`` (µs) by name, less those that have left. Fills :attr:`known`."""
        found: dict[str, _Found] = {}
        for raw, sign, registered, quiet, run, lease, *fields in self._slot.get([]):
            if (name := text(raw)) is not None:
                found[name] = _Found(number(sign), bool(registered), quiet, run, lease, fields)
        self.known = len(found)
        return [_judged(name, found[name], now, queues) for name in sorted(found) if not _has_left(found[name], now)]


def _has_left(found: _Found, now: int) -> bool:
    """A worker that ends signs off from RQ's registry; our index forgets it later."""
    if found.fields[-1] is not None:
        return True
    quiet = age(found.sign, now)
    return not found.registered and (quiet is None or quiet > SILENT_OURS)


def _judged(name: str, found: _Found, now: int, queues: frozenset[str]) -> WorkerInfo:
    fields = found.fields
    state, quiet = judge(found.sign, fields, now)
    lease = decoded(found.lease)
    started = lease.get("started")
    return WorkerInfo(
        name=name,
        state=state,
        queues=split_queues(shown(fields[1]), queues),
        job=found.job,
        function=str(lease["function"]) if "function" in lease else None,
        job_age=age(started, now) if isinstance(started, (int, float)) else None,
        age=age(from_iso(fields[2]), now),
        quiet=quiet,
        host=shown(fields[4]),
        pid=shown(fields[5]),
        version=shown(fields[6]),
        ours=found.sign is not None,
        stopping=fields[7] is not None,
        gone=fields[0] is None and fields[2] is None,
        quieted=str(decoded(found.quiet).get("by") or "?") if found.quiet else "",
        in_process=bool(lease.get("simple")),
    )


def count(rows: Sequence[WorkerInfo], known: int) -> WorkerCounts:
    """How many are busy, idle, silent."""
    states = [row.state for row in rows]
    return WorkerCounts(states.count("busy"), states.count("idle"), states.count("silent"), known, len(rows))


def page(
    server: Server, *, after: str = "", state: str | None = None, queue: str | None = None, size: int = 100
) -> WorkerPage:
    """A page of workers by name, after the name ``after``; one round trip."""
    batch = Batch(server.connection)
    time = batch.call("time")
    found, reader = QueueSearch(batch, conf.keys, server.queues), WorkerReader(batch, jobs=True)
    batch.run()
    everyone = reader.rows(from_time(time.get((0, 0))), frozenset(found.result().names))
    chosen = [
        row
        for row in everyone
        if row.name > after and state in (None, row.state) and (queue is None or queue in row.queues)
    ]
    rows = tuple(chosen[:size])
    return WorkerPage(rows, count(everyone, reader.known), rows[-1].name if len(chosen) > size else None)
