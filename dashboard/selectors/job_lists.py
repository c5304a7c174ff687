"""A page of a queue's jobs in one state, from the plain fields of their hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import store
from queueops.rdb.keys import JOB_FIELDS as F
from queueops.telemetry.batch import Batch, shown
from queueops.telemetry.clock import from_iso, from_time

PAGE = 50
SHORT = 4_000
"""Characters of a description kept in a list."""
READ = 50_000
"""Bytes of a description that a list is willing to fetch."""

STATES = ("queued", "parked", "running", "scheduled", "deferred", "failed", "quarantined")

_LIST = ("status", F["func"], "origin", F["since"], "enqueued_at", "started_at", F["attempts"], F["parked"],
         F["quarantined"], "worker_name", "ended_at")  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobRow:
    """One line of a list. Times in µs, 0 when unknown; ``gone`` when the hash no longer exists."""

    id: str
    state: str
    function: str
    queue: str
    description: str
    since: int
    attempts: int
    parked: str
    worker: str
    gone: bool
    due: int = 0
    age: float | None = None


@dataclass(frozen=True, slots=True)
class JobPage:
    """``counts`` by state; the page holds ``rows`` from position ``offset``."""

    state: str
    counts: Mapping[str, int]
    rows: tuple[JobRow, ...]
    offset: int
    more: bool


class PageReader:
    """One page of a queue's jobs in one state, in three batches that the caller may share: ids, fields, texts."""

    def __init__(self, batch: Batch, queue: str, state: str, offset: int = 0, size: int = PAGE) -> None:
        self.queue, self.state, self.offset, self.size = queue, state, offset, size
        keys, stop = store.keys(), offset + size
        self._time = batch.call("time")
        if state == "queued":
            self._found = batch.call("lrange", keys.of("rq_queue", queue), offset, stop)
        else:
            family = {
                "running": "rq_wip",
                "scheduled": "rq_scheduled",
                "deferred": "rq_deferred",
                "failed": "rq_failed",
            }
            key = keys.of(family.get(state, state), queue)
            newest_first = state in ("failed", "quarantined")
            self._found = batch.call("zrange", key, offset, stop, desc=newest_first, withscores=True)
        self._members: list[tuple[str, float]] = []
        self._more = False

    def fields(self, batch: Batch) -> None:
        """The second trip: plain fields, and how long the description is."""
        raw = self._found.get([])
        members = [(shown(item[0]), float(item[1])) if isinstance(item, tuple) else (shown(item), 0.0) for item in raw]
        if self.state == "running":  # RQ keeps executions there: <job>:<execution>
            members = [(member.rpartition(":")[0] or member, score) for member, score in members]
        self._more, self._members = len(members) > self.size, members[: self.size]
        keys = [store.keys().of("rq_job", i) for i, _ in self._members]
        self._hashes = [batch.call("hmget", key, _LIST) for key in keys]
        self._lengths = [batch.call("hstrlen", key, "description") for key in keys]

    def texts(self, batch: Batch) -> None:
        """The third trip: descriptions of a readable size only."""
        self._texts = [
            batch.call("hget", store.keys().of("rq_job", i), "description") if 0 < n.number() <= READ else None
            for (i, _), n in zip(self._members, self._lengths, strict=True)
        ]

    def page(self, counts: Mapping[str, int]) -> JobPage:
        now, nothing = from_time(self._time.get((0, 0))), [None] * len(_LIST)
        rows = [
            _row(i, score, raw.get(nothing), shown(text.get()) if text else "", n.number(), self.queue, self.state, now)
            for (i, score), raw, n, text in zip(self._members, self._hashes, self._lengths, self._texts, strict=True)
        ]
        # RQ's registries also hold what we show elsewhere: parked jobs as scheduled, quarantined ones as failed
        shared = self.state in ("scheduled", "failed")
        rows = [row for row in rows if row.gone or row.state == self.state or not shared]
        return JobPage(self.state, counts, tuple(rows), self.offset, self._more)


def _row(
    id_: str, score: float, raw: Sequence[Any], text: str, length: int, queue: str, listed: str, now: int
) -> JobRow:
    status, function, origin, since, enqueued, started, attempts, parked, quarantined, worker, ended = raw
    begun = {
        "running": from_iso(started),
        "scheduled": None,
        "failed": from_iso(ended),
        "quarantined": int(score),
    }.get(listed, store.number(since) or from_iso(enqueued))
    gone = status is None and function is None and length == 0
    state = job_state(shown(status), parked is not None, quarantined is not None)
    return JobRow(
        id=id_,
        state="gone" if gone else (listed if listed not in ("scheduled", "failed") else state),
        function=shown(function),
        queue=shown(origin) if origin is not None else queue,
        description=text[:SHORT] or (f"({length:,} bytes)" if length else ""),
        since=begun or 0,
        attempts=store.number(attempts),
        parked=shown(parked),
        worker=shown(worker),
        gone=gone,
        due=int(score * 1e6) if listed == "scheduled" else 0,
        age=max(0.0, (now - begun) / 1e6) if begun else None,
    )


def job_state(status: str, parked: bool, quarantined: bool) -> str:
    if quarantined and status == "failed":
        return "quarantined"
    if parked and status == "scheduled":
        return "parked"
    return {"started": "running", "finished": "completed", "created": "scheduled", "ready_to_enqueue": "queued"}.get(
        status, status or "unknown"
    )
