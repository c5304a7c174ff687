"""A caller that dies between any two of its writes: its job is there whole or not at all, and the ledger balances."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis.exceptions
from rq import Retry

from queueops.conf import conf
from queueops.rdb.keys import JOB_FIELDS
from queueops.rdb.scripts import SCHEMA, run
from queueops.rq import Queue, SimpleWorker
from queueops.testing import clock
from tests.chaos import judge
from tests.concurrency import jobs
from tests.concurrency.cut import Cutter
from tests.concurrency.look import nothing_left

K = conf.keys
DEAD = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)


@pytest.fixture
def cutter(redis_server: Any) -> Iterator[Cutter]:
    with tempfile.TemporaryDirectory(prefix="qo-") as home:
        made = Cutter(redis_server.url, Path(home) / "cut.sock")
        yield made
        made.close()


@pytest.fixture
def movable_clock() -> Iterator[None]:
    clock.install()
    yield
    clock.remove()


def dependent(queue: Any) -> None:
    first = queue.enqueue(jobs.free, job_id="a")
    queue.enqueue(jobs.free, job_id="b", depends_on=first)


def several(queue: Any) -> None:
    queue.enqueue_many([Queue.prepare_data(jobs.free, job_id=name) for name in "abc"])


def in_a_pipeline(queue: Any) -> None:
    with queue.connection.pipeline() as pipeline:
        queue.enqueue(jobs.free, job_id="a", pipeline=pipeline)
        queue.enqueue(jobs.everything, "x", job_id="b", pipeline=pipeline)
        pipeline.execute()


WAYS: dict[str, Callable[[Any], Any]] = {
    "enqueue": lambda queue: queue.enqueue(jobs.everything, "x", job_id="a"),
    "unique": lambda queue: queue.enqueue(jobs.everything, "x", job_id="a", unique=True),
    "at front, with retries": lambda queue: queue.enqueue(jobs.free, job_id="a", at_front=True, retry=Retry(max=2)),
    "enqueue_in": lambda queue: queue.enqueue_in(timedelta(seconds=5), jobs.everything, "x", job_id="a"),
    "with a ttl": lambda queue: queue.enqueue(jobs.free, job_id="a", ttl=600),
    "depends_on": dependent,
    "enqueue_many": several,
    "pipeline": in_a_pipeline,
}


def call(redis: Any, cutter: Cutter, stop: int, way: Callable[[Any], Any]) -> None:
    redis.flushall()
    run(redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")
    jobs.RUNS.clear()
    connection = cutter.client(resend=False)
    cutter.arm(stop=stop)
    with suppress(*DEAD):
        way(Queue("default", connection=connection))
    connection.close()


@pytest.mark.parametrize("name", WAYS)
def test_a_caller_that_dies_leaves_whole_jobs(redis: Any, cutter: Cutter, movable_clock: None, name: str) -> None:
    call(redis, cutter, 0, WAYS[name])
    requests = cutter.requests
    assert requests
    for stop in range(1, requests + 1):
        call(redis, cutter, stop, WAYS[name])
        there = {job for job in "abc" if redis.exists(K.of("rq_job", job))}
        for job in there:
            fields = redis.hmget(K.of("rq_job", job), "data", "status", "origin", JOB_FIELDS["claims"])
            assert all(fields), f"{job} is half there, killed before request {stop}: {fields}"
        clock.advance(redis, 10)
        for _ in range(2):
            SimpleWorker([Queue("default", connection=redis)], connection=redis).work(burst=True, logging_level="ERROR")
        log = judge.events(redis, K)
        done = [event["job"] for event in log if event["e"] == "job.completed"]
        assert sorted(done) == sorted(there), f"killed before request {stop} of {requests}"
        assert len(jobs.RUNS) == len(there)
        assert not judge.ledger_balances(redis, K, log), f"killed before request {stop} of {requests}"
        nothing_left(redis)
