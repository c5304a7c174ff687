"""How often a worker, a producer and a primitive go to Redis: fixed numbers, counted by the server."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis

from queueops import mirror
from queueops.conf import conf
from queueops.primitives import Lock, RateLimiter, Semaphore
from queueops.rdb.client import server_of
from queueops.rq import Queue, SimpleWorker, Worker
from tests.concurrency import trip_jobs as jobs

FEW, MANY = 5, 25
FORK = multiprocessing.get_context("fork")
QUIET = {"logging_level": "ERROR"}


def reads(connection: Redis) -> int:
    """Requests that the server has read, this one included."""
    return int(connection.info("stats")["total_reads_processed"])


def per_item(connection: Redis, work: Callable[[int], None]) -> float:
    """Round trips of one more item: what starting and stopping cost cancels out."""
    work(FEW)  # connects, loads the scripts
    before = reads(connection)
    work(FEW)
    between = reads(connection)
    work(MANY)
    return ((reads(connection) - between) - (between - before)) / (MANY - FEW)


@contextmanager
def worker_process(url: str, worker_class: type[Any], burst: bool) -> Iterator[Any]:
    process = FORK.Process(target=_work, args=(url, worker_class, burst), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _work(url: str, worker_class: type[Any], burst: bool) -> None:
    connection = Redis.from_url(url)
    worker = worker_class([Queue("default", connection=connection)], connection=connection)
    worker.teardown = lambda: None  # RQ's waits a second for its thread
    worker.work(burst=burst, **QUIET)
    os._exit(0)


@pytest.fixture
def ready(redis: Redis, transactional_db: None) -> Redis:
    """An empty server with the mirror that a claim asks for."""
    mirror.rebuild(server_of("default"))
    return redis


@pytest.fixture
def queue(ready: Redis) -> Queue:
    return Queue("default", connection=ready)


@pytest.mark.parametrize("function", [jobs.nothing, jobs.under_three])
def test_an_enqueue_is_one_round_trip(ready, queue, function):
    def enqueue(count: int) -> None:
        for n in range(count):
            queue.enqueue(function, n)

    assert per_item(ready, enqueue) == 1


@pytest.mark.parametrize("function", [jobs.nothing, jobs.under_three])
@pytest.mark.parametrize(("worker_class", "most"), [(SimpleWorker, 2), (Worker, 8)])
def test_a_run_from_claim_to_settle(ready, queue, redis_server, function, worker_class, most):
    def run(count: int) -> None:
        with ready.pipeline() as pipeline:  # all enqueues together are one request, at most a few
            for n in range(count):
                queue.enqueue(function, n, pipeline=pipeline)
            pipeline.execute()
        before = reads(ready)
        with worker_process(redis_server.url, worker_class, burst=True) as process:
            process.join(60)
        taken.append(reads(ready) - before)

    taken: list[int] = []
    for count in (FEW, FEW, MANY):
        run(count)
    assert int(ready.hget(conf.keys.of("total", "default"), "completed")) == FEW * 2 + MANY
    assert (taken[2] - taken[1]) / (MANY - FEW) <= most


@pytest.mark.parametrize("worker_class", [SimpleWorker, Worker])
def test_parked_jobs_cost_an_idle_worker_a_few_calls_a_second(ready, queue, redis_server, worker_class):
    assert Lock("trips-one", connection=ready).acquire("somebody-else", 600)
    for n in range(200):
        queue.enqueue(jobs.one_at_a_time, n)
    with worker_process(redis_server.url, worker_class, burst=False):
        give_up = time.monotonic() + 60
        while ready.zcard(conf.keys.of("parked", "default")) < 200 or not ready.info("clients")["blocked_clients"]:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        before, start = reads(ready), time.monotonic()
        time.sleep(3)
        asked = reads(ready) - before - 1
        assert asked / (time.monotonic() - start) < 5
    assert not ready.hget(conf.keys.of("total", "default"), "started")


@pytest.mark.parametrize(
    "refused",
    [
        lambda redis: Lock("trips-lock", connection=redis).acquire("second", 60),
        lambda redis: Semaphore("trips-semaphore", 1, connection=redis).acquire("second", 60),
        lambda redis: RateLimiter("trips-rate", 1, 60, connection=redis).hit().allowed,
    ],
    ids=["lock", "semaphore", "rate"],
)
def test_a_refusal_of_a_primitive_is_one_round_trip(ready, refused):
    assert Lock("trips-lock", connection=ready).acquire("first", 60)
    assert Semaphore("trips-semaphore", 1, connection=ready).acquire("first", 60)
    assert RateLimiter("trips-rate", 1, 60, connection=ready).hit().allowed

    def refuse(count: int) -> None:
        for _ in range(count):
            assert not refused(ready)

    assert per_item(ready, refuse) == 1
