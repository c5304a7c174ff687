"""RQ's own maintenance beside ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import rq
from rq import Retry
from rq.job import JobStatus
from rq.registry import StartedJobRegistry

from tests.rq import jobs
from tests.scripts.kit import K, eventually


def abandon(queue: Any) -> None:
    """RQ's clean-up, as a plain worker or a page of django-rq runs it, long after the lease of the running job."""
    eventually(lambda: queue.connection.zcount(K.static("lease_ends"), "-inf", _micros(queue.connection)))
    StartedJobRegistry(queue=rq.Queue("default", connection=queue.connection)).cleanup(timestamp=time.time() + 1000)


def places(queue: Any, job_id: str) -> dict[str, int]:
    """How often the job stands where."""
    running = queue.connection.hexists(K.static("running"), job_id)
    found = {"queue": queue.get_job_ids().count(job_id), "running": int(running)}
    for family in ("rq_wip", "rq_failed", "rq_finished", "rq_scheduled", "quarantined", "waiting"):
        names = queue.connection.zrange(K.of(family, "default"), 0, 9)
        found[family] = sum(name.partition(b":")[0] == job_id.encode() for name in names)
    return {name: n for name, n in found.items() if n}


OUTCOMES = ("completed", "failed", "retried", "put_back", "postponed", "discarded", "crashed")


@pytest.mark.parametrize("retry", [None, Retry(max=2), Retry(max=2, interval=60)])
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("dependents", [False, True])
def test_a_run_that_ends_after_rqs_clean_up_changes_nothing(
    queue: Any, doors: Any, totals: Callable[[], dict[str, int]], retry: Any, outcome: str, dependents: bool
) -> None:
    """Its worker stood still for longer than the lease and RQ's minute, and then went on as if nothing had happened."""
    job = queue.enqueue(jobs.add, 1, 2, retry=retry)
    if dependents:
        queue.enqueue(jobs.add, 3, 4, depends_on=job)
    _, token = doors.start(span=0.05)
    abandon(queue)
    status, placed = job.get_status(refresh=True), places(queue, job.id)
    options = {"guard": 1} if outcome == "completed" else {"seconds": 60}
    assert doors.settle(token, outcome, job=job.id, **options).code == "LOST"
    placed.pop("running", None)
    assert job.get_status(refresh=True) == status and places(queue, job.id) == placed
    found = totals()
    ends = ["failed_attempt", "retried" if retry else "failed"]
    assert {event for event in found if event != "accepted"} == {"started", *ends}
    assert not queue.connection.hlen(K.static("leases"))


def test_a_plain_worker_runs_what_rqs_clean_up_gave_it(
    queue: Any, doors: Any, work: Callable[..., None], totals: Callable[[], dict[str, int]]
) -> None:
    """Our lease is ended while it runs elsewhere: it is not put back beside that run."""
    job = queue.enqueue(jobs.tick, retry=Retry(max=2))
    doors.start(span=0.05)
    abandon(queue)
    plain = rq.Queue("default", connection=queue.connection)
    rq.SimpleWorker([plain], connection=queue.connection).work(burst=True, logging_level="ERROR")
    assert jobs.CALLS == [["started", "started"]] and job.get_status(refresh=True) == JobStatus.FINISHED
    work()
    assert len(jobs.CALLS) == 1 and places(queue, job.id) == {"rq_finished": 1}
    assert totals() == {"accepted": 1, "started": 1, "failed_attempt": 1, "retried": 1}
    assert not queue.connection.hlen(K.static("leases"))


def test_a_person_requeues_what_rqs_clean_up_failed(
    queue: Any, doors: Any, work: Callable[..., None], totals: Callable[[], dict[str, int]]
) -> None:
    job = queue.enqueue(jobs.add, 1, 2)
    doors.start(span=0.05)
    abandon(queue)
    job.requeue()
    work()
    assert jobs.CALLS == [(1, 2)] and places(queue, job.id) == {"rq_finished": 1}
    found = totals()
    assert (found["started"], found["completed"], found["accepted"]) == (2, 1, 1)


@pytest.mark.parametrize("retry", [None, Retry(max=2)])
def test_rqs_clean_up_of_a_job_whose_lease_nobody_ended(
    queue: Any, work: Callable[..., None], totals: Callable[[], dict[str, int]], doors: Any, retry: Any
) -> None:
    """No worker and no monitor of ours ran for longer than the lease and RQ's minute: RQ called the job abandoned."""
    job = queue.enqueue(jobs.add, 1, 2, retry=retry)
    doors.start(span=0.05)
    abandon(queue)
    assert job.get_status(refresh=True) == (JobStatus.QUEUED if retry else JobStatus.FAILED)
    work()
    found = totals()
    if retry:
        assert jobs.CALLS == [(1, 2)] and found["completed"] == 1 and found["started"] == 2 and found["retried"] == 1
    else:
        assert jobs.CALLS == [] and found == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}
    assert not queue.connection.hlen(K.static("leases")) and not queue.connection.hlen(K.static("running"))


def _micros(connection: Any) -> int:
    seconds, micros = connection.time()
    return int(seconds * 1_000_000 + micros)
