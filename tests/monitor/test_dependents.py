"""Dependents of a job that ended without its worker."""

from __future__ import annotations

from typing import Any

import pytest
import rq
from django_rq import get_queue
from rq.job import Dependency, JobStatus

from queueops.monitor.duties import release_dependents
from queueops.monitor.duty import Context
from queueops.rq import Job, SimpleWorker
from tests.rq import jobs
from tests.scripts.kit import Doors, K


@pytest.fixture
def queue(context: Context, db: None) -> Any:
    return get_queue("default")


def status(job: Any) -> JobStatus:
    found: JobStatus = Job.fetch(job.id, connection=job.connection).get_status()
    return found


def test_those_that_allow_failure_run_after_a_parent_that_killed_its_workers(queue: Any, context: Context) -> None:
    doors = Doors(queue.connection)
    parent = queue.enqueue(jobs.add, 1, 2)
    anyway = queue.enqueue(jobs.add, 3, 4, depends_on=Dependency([parent], allow_failure=True))
    strict = queue.enqueue(jobs.add, 5, 6, depends_on=parent)
    for _ in range(2):
        _, token = doors.start()
        doors.settle(token, "crashed")
    assert queue.connection.zscore(K.of("quarantined", "default"), parent.id)
    assert release_dependents.act(context) == {"parents": 1, "failed": 0, "moved": 0}
    assert (status(anyway), status(strict)) == (JobStatus.QUEUED, JobStatus.DEFERRED)
    assert not queue.connection.exists(K.static("parents"))


def test_the_worker_died_between_the_failure_and_its_dependents(queue: Any, context: Context) -> None:
    doors = Doors(queue.connection)
    parent = queue.enqueue(jobs.add, 1, 2)
    anyway = queue.enqueue(jobs.add, 3, 4, depends_on=Dependency([parent], allow_failure=True))
    _, token = doors.start()
    doors.settle(token, "failed")
    assert status(anyway) == JobStatus.DEFERRED
    release_dependents.act(context)
    assert status(anyway) == JobStatus.QUEUED
    queue.connection.sadd(K.static("parents"), parent.id, "gone", "\x00")
    assert release_dependents.act(context) == {"parents": 1, "failed": 2, "moved": 0}
    assert len(queue) == 1, "twice is harmless"


def half_way(queue: Any, n: int) -> list[Any]:
    """Jobs that RQ took off their parents and put on no queue: as when two parents end at the same moment."""
    found = []
    for _ in range(n):
        job = queue.enqueue(jobs.add, 1, 2, depends_on=queue.enqueue(jobs.add, 3, 4))
        queue.connection.zrem(K.of("rq_deferred", "default"), job.id)
        queue.connection.zadd(K.of("rq_ready", "default"), {job.id: 1})
        job.set_status(JobStatus.READY_TO_ENQUEUE)
        found.append(job)
    return found


def test_what_stands_half_way_is_moved_without_a_marked_parent(queue: Any, context: Context) -> None:
    stuck = half_way(queue, 3)
    assert release_dependents.act(context) == {"parents": 0, "failed": 0, "moved": 3}
    assert {status(job) for job in stuck} == {JobStatus.QUEUED}
    assert not queue.connection.exists(K.of("rq_ready", "default"))


def test_an_idle_worker_moves_it_where_no_monitor_is(queue: Any) -> None:
    stuck = half_way(queue, 2)
    queue.connection.delete(K.of("rq_queue", "default"))
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")
    assert {status(job) for job in stuck} == {JobStatus.FINISHED}


def test_what_rq_concedes_to_another_is_tried_again(queue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, push, turns = half_way(queue, 1)[0], rq.Queue._enqueue_job, [3]

    def crowded(self: Any, job: Any, *args: Any, **options: Any) -> Any:
        if turns[0]:  # another parent's dependent becomes ready between RQ's look and its write
            turns[0] -= 1
            queue.connection.zadd(K.of("rq_ready", "default"), {f"other-{turns[0]}": 1})
        return push(self, job, *args, **options)

    monkeypatch.setattr(rq.Queue, "_enqueue_job", crowded)
    queue.enqueue_ready_jobs_by_queue({"default": [stuck.id]})
    assert turns == [0] and status(stuck) == JobStatus.QUEUED
