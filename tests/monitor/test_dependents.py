"""Dependents of a job that ended without its worker."""

from __future__ import annotations

from typing import Any

import pytest
from django_rq import get_queue
from rq.job import Dependency, JobStatus

from queueops.monitor.duties import release_dependents
from queueops.monitor.duty import Context
from queueops.rq import Job
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
    assert release_dependents.act(context) == {"parents": 1, "failed": 0}
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
    assert release_dependents.act(context) == {"parents": 1, "failed": 2}
    assert len(queue) == 1, "twice is harmless"
