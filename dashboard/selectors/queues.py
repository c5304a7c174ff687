"""One queue in full: its row of the snapshot, its functions with their rates, a page of its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.selectors import job_lists as jobs
from dashboard.selectors import snapshots, store
from queueops.rdb.client import server_of
from queueops.rdb.keys import SEP
from queueops.telemetry.batch import Batch, decoded, shown
from queueops.telemetry.clock import from_time
from queueops.telemetry.events import PLUS
from queueops.telemetry.job_pages import JobFilter

MAX_FUNCTIONS = 60
SEEN = 2000
MINUTES = 10
EVENTS = (*PLUS, "started", "completed", "failed", "quarantined", "parked", "rt")


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One function in one queue; rates per minute over the last ten whole minutes, None without any data."""

    name: str
    inflow: float | None
    completed: float | None
    failed: float | None
    parked: float | None
    mean_run: float | None
    paused: dict[str, Any] | None
    isolated: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    server: str
    row: snapshots.QueueRow | None
    known: bool
    """It is in the settings, or a job was sent to it."""
    functions: tuple[FunctionRow, ...]
    jobs: jobs.JobPage
    now: int


def queue(name: str, tab: str, row: snapshots.QueueRow | None, *, after: str = "", before: str = "") -> Queue:
    """Three round trips, whatever the sizes."""
    server = server_of(name)
    first, second = Batch(server.connection), Batch(server.connection)
    functions = _FunctionReader(first, name)
    seen = first.call("zscore", store.keys().static("queues"), name)
    listed = first.call("sismember", store.keys().static("rq_queues"), store.keys().of("rq_queue", name))
    with store.guard(server):
        first.run()
        functions.minutes(second)
        second.run()
    wanted = JobFilter(jobs.state_of(tab), name)
    found = jobs.page(tab, wanted, after=after, before=before)
    known = bool(row or name in server.queues or seen.get() is not None or listed.get() or found.rows)
    return Queue(name, server.alias, row, known, functions.rows(), found, functions.now)


class _FunctionReader:
    """Functions lately seen in a queue, with their last ten whole minutes; two batches."""

    def __init__(self, batch: Batch, queue_name: str) -> None:
        keys, self._queue = store.keys(), queue_name
        self._time = batch.call("time")
        self._seen = batch.call("zrevrange", keys.static("functions"), 0, SEEN - 1)
        self._settings = [batch.call("hscan", keys.static(name), 0, count=1000) for name in ("paused", "isolated")]

    def minutes(self, batch: Batch) -> None:
        self.now = from_time(self._time.get((0, 0)))
        prefix = self._queue + SEP
        seen = (shown(raw) for raw in self._seen.get([]))
        names = [text[len(prefix) :] for text in seen if text.startswith(prefix)][:MAX_FUNCTIONS]
        end = self.now // 60_000_000 * 60
        starts = range(end - MINUTES * 60, end, 60)
        minute = store.keys().of("minute", "")
        self._slots = {
            name: [batch.call("hmget", f"{minute}{at}{SEP}{self._queue}{SEP}{name}", EVENTS) for at in starts]
            for name in names
        }

    def rows(self) -> tuple[FunctionRow, ...]:
        paused, isolated = ({shown(k): decoded(v) for k, v in slot.get((0, {}))[1].items()} for slot in self._settings)
        rows = [
            _function(
                name,
                [slot.get() for slot in found],
                _live(paused.get(f"f:{name}"), self.now),
                _live(isolated.get(f"f:{name}"), self.now),
            )
            for name, found in self._slots.items()
        ]
        return tuple(sorted(rows, key=lambda r: (-(r.inflow or 0), -(r.completed or 0), r.name)))


def _live(record: dict[str, Any] | None, now: int) -> dict[str, Any] | None:
    until = store.number((record or {}).get("until"))
    return record if record and (until == 0 or until > now) else None


def _function(
    name: str, minutes: list[Any], paused: dict[str, Any] | None, isolated: dict[str, Any] | None
) -> FunctionRow:
    sums = dict.fromkeys(EVENTS, 0)
    for values in minutes:
        for event, value in zip(EVENTS, values or (), strict=False):
            sums[event] += store.number(value)
    ended = sums["completed"] + sums["failed"]
    return FunctionRow(
        name=name,
        inflow=sum(sums[e] for e in PLUS) / MINUTES,
        completed=sums["completed"] / MINUTES,
        failed=sums["failed"] / MINUTES,
        parked=sums["parked"] / MINUTES,
        mean_run=sums["rt"] / ended / 1e6 if ended and sums["rt"] else None,
        paused=paused,
        isolated=isolated,
    )
