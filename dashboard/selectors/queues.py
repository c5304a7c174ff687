"""One queue in full: its row of the snapshot, its functions with their rates, a page of its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import job_lists as jobs
from dashboard.selectors import recovery, snapshots, store
from queueops.diagnosis.recovery import Recovery
from queueops.rdb.client import server_of
from queueops.telemetry.batch import Batch, decoded, shown
from queueops.telemetry.functions import FunctionReader, FunctionStats
from queueops.telemetry.job_pages import JobFilter
from queueops.telemetry.samples import ledger_of

MINUTES = 10
LEDGER_MINUTES = 10
"""Minutes that the ledger of a queue looks back."""


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One function in one queue; rates per minute over the last ten whole minutes."""

    name: str
    inflow: float
    completed: float
    failed: float
    parked: float
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
    recovery: Recovery | None


def queue(
    name: str,
    tab: str,
    row: snapshots.QueueRow | None,
    banner: Sequence[snapshots.Restraint] = (),
    *,
    after: str = "",
    before: str = "",
) -> Queue:
    """Two round trips and two queries, whatever the sizes. ``banner``: what is in force."""
    server, keys, batch = server_of(name), store.keys(), Batch(server_of(name).connection)
    functions = FunctionReader(batch, queue=name, minutes=MINUTES, whole=True, active=False)
    settings = [batch.call("hscan", keys.static(field), 0, count=1000) for field in ("paused", "isolated")]
    seen = batch.call("zscore", keys.static("queues"), name)
    listed = batch.call("sismember", keys.static("rq_queues"), keys.of("rq_queue", name))
    samples = batch.call("lrange", keys.static("samples"), 0, LEDGER_MINUTES)
    with store.guard(server):
        batch.run()
    wanted = JobFilter(jobs.state_of(tab), name)
    found, did = jobs.page(tab, wanted, after=after, before=before), functions.read()
    paused, isolated = ({shown(k): decoded(v) for k, v in slot.get((0, {}))[1].items()} for slot in settings)
    rows = [
        _function(
            stats,
            _live(paused.get(f"f:{stats.function}"), did.at),
            _live(isolated.get(f"f:{stats.function}"), did.at),
        )
        for stats in did.rows
    ]
    rows.sort(key=lambda r: (-r.inflow, -r.completed, r.name))
    known = bool(row or name in server.queues or seen.get() is not None or listed.get() or found.rows)
    functions_here = {row.name for row in rows}
    recovered = None
    if row is not None:
        balance = ledger_of(samples.get([]), name)
        recovered = recovery.of(server.alias, row, functions_here, banner, balance, did.at)
    return Queue(name, server.alias, row, known, tuple(rows), found, did.at, recovered)


def _live(record: dict[str, Any] | None, now: int) -> dict[str, Any] | None:
    until = store.number((record or {}).get("until"))
    return record if record and (until == 0 or until > now) else None


def _function(stats: FunctionStats, paused: dict[str, Any] | None, isolated: dict[str, Any] | None) -> FunctionRow:
    return FunctionRow(
        name=stats.function,
        inflow=stats.arrived / MINUTES,
        completed=stats.counts.get("completed", 0) / MINUTES,
        failed=stats.counts.get("failed", 0) / MINUTES,
        parked=stats.counts.get("parked", 0) / MINUTES,
        mean_run=stats.ran.mean,
        paused=paused,
        isolated=isolated,
    )
