"""What plain RQ does beside the doors: it cancels what is parked, saves old copies, brings its scheduler."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rq import get_current_job
from rq.job import Job, JobStatus
from rq.worker import Worker as PlainWorker

from queueops import RateLimited, controlled
from queueops.conf import conf
from queueops.rdb.keys import instance
from queueops.rdb.scripts import run
from queueops.rq import SimpleWorker, Worker
from tests.rq import jobs, unique_jobs
from tests.scripts.kit import Doors


def park(queue: Any, doors: Doors, function: Any = jobs.locked) -> tuple[Any, str]:
    """A job that waits for one that runs, and the run's token."""
    queue.enqueue(function, 1)
    _, token = doors.start() or ("", "")
    parked = queue.enqueue(function, 1)
    assert doors.start() is None
    assert parked.get_status(refresh=True) == JobStatus.SCHEDULED
    return parked, token


def cancel(job: Any) -> None:
    """As a program that knows nothing of queueops does."""
    Job.fetch(job.id, connection=job.connection).cancel()


def waits_nowhere(queue: Any, job: Any) -> bool:
    keys, found = conf.keys, queue.connection
    places = [keys.of(name, queue.name) for name in ("waiting", "parked", "rq_scheduled")]
    return all(found.zscore(place, job.id) is None for place in places) and job.id not in queue.job_ids


def test_a_parked_job_that_was_cancelled_is_not_woken(queue: Any, doors: Doors, totals: Any) -> None:
    job, token = park(queue, doors)
    cancel(job)
    doors.settle(token)
    assert doors.start() is None
    assert job.get_status(refresh=True) == JobStatus.CANCELED and waits_nowhere(queue, job)
    assert totals()["cancelled"] == 1


def test_nor_the_one_that_waits_for_a_pause(queue: Any, doors: Doors, totals: Any) -> None:
    queue.connection.hset(conf.keys.static("paused"), "f:tests.rq.jobs.add", '{"until":0}')
    job, other = queue.enqueue(jobs.add, 1, 1), queue.enqueue(jobs.add, 2, 2)
    assert doors.start() is None
    cancel(job)
    queue.connection.delete(conf.keys.static("paused"))
    queue.connection.zadd(conf.keys.static("pump"), {instance("pause", "tests.rq.jobs.add"): 1})
    assert (doors.start() or [""])[0] == other.id
    assert waits_nowhere(queue, job) and totals()["cancelled"] == 1


def test_nor_the_one_that_waits_for_a_unique_lock(queue: Any, doors: Doors, totals: Any) -> None:
    queue.enqueue(unique_jobs.replaces, 1, 1)
    _, token = doors.start() or ("", "")
    job = queue.enqueue(unique_jobs.replaces, 1, 2)
    cancel(job)
    doors.settle(token)
    assert doors.start() is None and waits_nowhere(queue, job) and totals()["cancelled"] == 1


def test_nor_the_one_that_comes_back_by_time(queue: Any, work: Any, doors: Doors, totals: Any, forward: Any) -> None:
    job = queue.enqueue(jobs.postpone)
    work()
    cancel(job)
    forward(61)
    assert doors.start() is None and waits_nowhere(queue, job) and totals()["cancelled"] == 1


def test_the_monitor_finds_a_cancelled_one_too(queue: Any, doors: Doors, totals: Any) -> None:
    job, _ = park(queue, doors)
    cancel(job)
    run(queue.connection, "tidy_waiting", 20, json.dumps(["default"]))
    assert waits_nowhere(queue, job) and totals()["cancelled"] == 1


def save_old_copy() -> None:
    current = get_current_job()
    assert current
    old = Job.fetch(current.id, connection=current.connection)
    old.set_status(JobStatus.QUEUED)  # as it was when it was fetched
    old.meta["note"] = "kept"
    old.save()
    jobs.CALLS.append("ran")
    jobs.die()


def test_a_job_that_saves_an_old_copy_of_itself_and_dies_is_not_lost(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(save_old_copy)
    work(fork=True)
    assert totals() == {"accepted": 1, "started": 2, "crashed": 2, "quarantined": 1}
    assert job.get_status(refresh=True) == JobStatus.FAILED


@controlled(RateLimited("tests-bucket", limit=2, per=60, strategy="bucket", burst=6, weight=lambda n: n))
def heavy(n: int) -> int:
    jobs.CALLS.append(n)
    return n


def test_a_weight_up_to_the_burst_of_a_bucket_runs(queue: Any, work: Any, forward: Any) -> None:
    forward(0)
    queue.enqueue(heavy, 3)
    queue.enqueue(heavy, 5)
    work()
    assert jobs.CALLS == [3]
    forward(61)
    work()
    assert jobs.CALLS == [3, 5]


@pytest.mark.parametrize("kind", [Worker, SimpleWorker])
def test_the_scheduler_of_rq_is_not_started(queue: Any, kind: Any, totals: Any, caplog: Any) -> None:
    queue.enqueue_in(timedelta(seconds=-1), jobs.add, 1, 1)
    worker = kind([queue], connection=queue.connection)
    with caplog.at_level(logging.INFO, logger="rq.worker"):
        worker.work(burst=True, with_scheduler=True, logging_level="INFO")
    assert worker.scheduler is None
    assert totals() == {"accepted": 1, "started": 1, "completed": 1}


def test_a_plain_worker_beside_ours_keeps_its_scheduler(queue: Any) -> None:
    worker = PlainWorker([queue], connection=queue.connection)
    worker.work(burst=True, with_scheduler=True, logging_level="ERROR")
    assert worker.scheduler is not None


def test_a_time_before_now_is_now(queue: Any, work: Any, totals: Any) -> None:
    queue.enqueue_in(timedelta(seconds=-5), jobs.add, 1, 1)
    work()
    assert totals() == {"accepted": 1, "started": 1, "completed": 1}


def test_a_time_long_past_is_no_wait(queue: Any, doors: Doors) -> None:
    job = queue.enqueue_at(datetime(1999, 1, 1, tzinfo=UTC), jobs.add, 1, 1)
    assert doors.start()
    since = int(queue.connection.hget(job.key, "qo_since"))
    assert since >= int(job.created_at.timestamp() * 1e6) - 1_000_000
