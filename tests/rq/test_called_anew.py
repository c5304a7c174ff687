"""A job that is called anew while it runs runs again after this run, also when no other worker saw the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import rq

from queueops.rq import Job
from tests.rq import jobs
from tests.scripts.kit import Doors

Work = Callable[..., None]


@pytest.mark.parametrize("fork", [False, True])
def test_a_plain_enqueue_of_a_running_id(queue: Any, doors: Doors, work: Work, totals: Any, fork: bool) -> None:
    plain = rq.Queue("default", connection=queue.connection)
    plain.enqueue(jobs.add, 1, 2, job_id="refresh")
    _, token = doors.start() or ("", "")
    plain.enqueue(jobs.add, 30, 40, job_id="refresh")
    doors.settle(token)
    assert queue.job_ids == ["refresh"]
    work(fork=fork)
    job = Job.fetch("refresh", connection=queue.connection)
    assert job.get_status() == "finished" and job.return_value() == 70
    assert totals()["completed"] == 2 and not queue.job_ids


def test_a_job_that_deletes_and_enqueues_itself(queue: Any, work: Work, totals: Any) -> None:
    jobs.CALLS.clear()
    job = queue.enqueue(jobs.renews_itself)
    work()
    assert jobs.CALLS == ["first", "second"]
    assert totals()["accepted"] == totals()["completed"] == 2
    assert job.get_status(refresh=True) == "finished"


def test_a_status_alone_is_no_call(queue: Any, doors: Doors, totals: Any) -> None:
    job = queue.enqueue(jobs.add, 1, 2)
    _, token = doors.start() or ("", "")
    queue.connection.hset(f"rq:job:{job.id}", "status", "queued")
    doors.settle(token)
    assert not queue.job_ids and totals()["completed"] == 1
