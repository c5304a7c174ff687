"""The job of a queue that has waited longest, from three O(1) places.

The index ``wait:<queue>`` knows every job that passed our doors; a job of a plain-RQ producer is not in it until it is
claimed, so the head of the list counts too, and so does the first due entry of RQ's scheduled registry.
Stale heads (job gone or no longer waiting) are passed over here and removed by the monitor.
"""

from __future__ import annotations

from dataclasses import dataclass

from queueops.rdb.keys import JOB_FIELDS, Keys
from queueops.telemetry.batch import Batch, Slot, number, text
from queueops.telemetry.clock import US, age, from_iso

HEADS = 3
WAITING = frozenset({"queued", "scheduled", "deferred", "rate_limited", "ready_to_enqueue", "created"})
FIELDS = ("status", "enqueued_at", "created_at", JOB_FIELDS["since"])


@dataclass(frozen=True, slots=True)
class Oldest:
    """``age`` in seconds."""

    age: float
    job: str


class HeadCheck:
    """The hashes of the heads of one queue, on their way."""

    def __init__(self, indexed: list[tuple[str, int]], listed: list[str], due: tuple[str, int] | None) -> None:
        self._indexed, self._listed, self._due = indexed, listed, due
        self._hashes: dict[str, Slot] = {}

    def ask(self, batch: Batch, keys: Keys) -> None:
        for job in dict.fromkeys([job for job, _ in self._indexed] + self._listed):
            self._hashes[job] = batch.call("hmget", keys.of("rq_job", job), FIELDS)

    def oldest(self, now: int) -> Oldest | None:
        found: list[Oldest] = []
        for job, since in self._indexed:
            if self._waits(job):
                found.append(Oldest(age(since, now) or 0.0, job))
        for job in self._listed:
            began = self._began(job)
            if began is not None:
                found.append(Oldest(age(began, now) or 0.0, job))
        if self._due and self._due[1] <= now:
            found.append(Oldest(age(self._due[1], now) or 0.0, self._due[0]))
        return max(found, key=lambda entry: entry.age, default=None)

    def _waits(self, job: str) -> bool:
        values = self._hashes[job].get([None])
        return (text(values[0]) or "") in WAITING

    def _began(self, job: str) -> int | None:
        if not self._waits(job):
            return None
        _, enqueued, created, since = self._hashes[job].get([None] * len(FIELDS))
        return number(since) or from_iso(enqueued) or from_iso(created)


class Heads:
    """The first entries of the places where a queue's waiting jobs are."""

    def __init__(self, batch: Batch, keys: Keys, queue: str) -> None:
        self._index = batch.call("zrange", keys.of("waiting", queue), 0, HEADS - 1, withscores=True)
        self._list = batch.call("lrange", keys.of("rq_queue", queue), 0, HEADS - 1)
        self._due = batch.call("zrange", keys.of("rq_scheduled", queue), 0, 0, withscores=True)

    def check(self, batch: Batch, keys: Keys) -> HeadCheck:
        """Ask for the hashes of the heads."""
        indexed = [(job, int(score)) for raw, score in self._index.get([]) if (job := text(raw)) is not None]
        known = {job for job, _ in indexed}
        listed = [job for raw in self._list.get([]) if (job := text(raw)) is not None and job not in known]
        first = self._due.get([])
        due = None
        if first and (job := text(first[0][0])) is not None:
            due = (job, int(first[0][1] * US))
        check = HeadCheck(indexed, listed, due)
        check.ask(batch, keys)
        return check
