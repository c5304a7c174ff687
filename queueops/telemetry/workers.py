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
from queueops.rdb.keys import Keys
from queueops.telemetry.batch import Batch, Slot, decoded, shown, text
from queueops.telemetry.clock import age, from_iso, from_time
from queueops.telemetry.discovery import MAX_WORKERS, QueueSearch, WorkerSearch

if TYPE_CHECKING:
    from queueops.rdb.client import Server

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


class WorkerReader:
    """The hashes of all workers found, in the second round trip; their leases, if wanted, in the third."""

    def __init__(self, batch: Batch, keys: Keys, search: WorkerSearch, *, jobs: bool = False) -> None:
        self._keys = keys
        self._signs, self._registered = search.result()
        everyone = sorted(self._registered | self._signs.keys())
        self.known, self.names = len(everyone), everyone[:MAX_WORKERS]
        self._hashes: dict[str, Slot] = {n: batch.call("hmget", keys.of("rq_worker", n), FIELDS) for n in self.names}
        self._quiet = batch.call("hmget", keys.static("quiet"), self.names or [""])
        self._runs: dict[str, Slot] = {}
        if jobs:
            self._runs = {n: batch.call("srandmember", keys.of("rq_worker", f"{n}:executions"), 1) for n in self.names}
        self._leases: dict[str, Slot] = {}

    def _run(self, name: str) -> tuple[str | None, str | None]:
        """``(job, token)`` of the worker's execution, whose id is the token of its lease."""
        first = self._runs[name].get([]) if name in self._runs else []
        job, colon, token = (text(first[0]) or "" if first else "").rpartition(":")
        return (job, token) if colon else (None, None)

    def leases(self, batch: Batch, names: Sequence[str]) -> None:
        """Ask for the lease records of what ``names`` run."""
        for name in names:
            _, token = self._run(name)
            if token:
                self._leases[name] = batch.call("hget", self._keys.static("leases"), token)

    def rows(self, now: int, queues: frozenset[str], names: Sequence[str] | None = None) -> list[WorkerInfo]:
        """The workers read, judged at ``now`` (µs), less those that have left."""
        return [
            self._row(name, now, queues)
            for name in (self.names if names is None else names)
            if not self._has_left(name, now)
        ]

    def _has_left(self, name: str, now: int) -> bool:
        """A worker that ends signs off from RQ's registry; our index forgets it later."""
        if self._hashes[name].get([None])[-1] is not None:
            return True
        quiet = age(self._signs.get(name), now)
        return name not in self._registered and (quiet is None or quiet > SILENT_OURS)

    def _row(self, name: str, now: int, queues: frozenset[str]) -> WorkerInfo:
        fields = self._hashes[name].get([None] * len(FIELDS))
        state, quiet = judge(self._signs.get(name), fields, now)
        lease = decoded(self._leases[name].get()) if name in self._leases else {}
        marks = dict(zip(self.names, self._quiet.get([]), strict=False))
        started = lease.get("started")
        return WorkerInfo(
            name=name,
            state=state,
            queues=split_queues(shown(fields[1]), queues),
            job=self._run(name)[0],
            function=str(lease["function"]) if "function" in lease else None,
            job_age=age(started, now) if isinstance(started, (int, float)) else None,
            age=age(from_iso(fields[2]), now),
            quiet=quiet,
            host=shown(fields[4]),
            pid=shown(fields[5]),
            version=shown(fields[6]),
            ours=name in self._signs,
            stopping=fields[7] is not None,
            gone=fields[0] is None and fields[2] is None,
            quieted=str(decoded(marks.get(name)).get("by") or "?") if marks.get(name) else "",
            in_process=bool(lease.get("simple")),
        )


def count(rows: Sequence[WorkerInfo], known: int) -> WorkerCounts:
    """How many are busy, idle, silent."""
    states = [row.state for row in rows]
    return WorkerCounts(states.count("busy"), states.count("idle"), states.count("silent"), known, len(rows))


def page(
    server: Server, *, after: str = "", state: str | None = None, queue: str | None = None, size: int = 100
) -> WorkerPage:
    """A page of workers by name, after the name ``after``; three round trips."""
    keys = conf.keys
    first = Batch(server.connection)
    time = first.call("time")
    found, workers = QueueSearch(first, keys, server.queues), WorkerSearch(first, keys)
    first.run()
    now, queues = from_time(time.get((0, 0))), frozenset(found.result().names)
    second = Batch(server.connection)
    reader = WorkerReader(second, keys, workers, jobs=True)
    second.run()
    everyone = reader.rows(now, queues)
    chosen = [
        row.name
        for row in everyone
        if row.name > after and state in (None, row.state) and (queue is None or queue in row.queues)
    ]
    names = chosen[:size]
    third = Batch(server.connection)
    reader.leases(third, names)
    third.run()
    rows = tuple(reader.rows(now, queues, names))
    return WorkerPage(rows, count(everyone, reader.known), names[-1] if len(chosen) > size else None)
