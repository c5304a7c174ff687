"""Uniqueness under races: many processes at once, and an enqueue beside a settle."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import pytest
import redis as redis_py

from queueops.rq import Queue
from tests.rq import unique_jobs as jobs
from tests.scripts.kit import Doors, K

FORK = multiprocessing.get_context("fork")
PROCESSES, EACH = 20, 5
ROUNDS = 1000


def together(count: int, work: Callable[[Any, int], None], url: str) -> None:
    """Run ``work(connection, number)`` in ``count`` processes that begin at the same time."""
    barrier = FORK.Barrier(count)

    def go(number: int) -> None:
        connection = redis_py.Redis.from_url(url)
        connection.ping()
        barrier.wait(60)
        work(connection, number)
        os._exit(0)

    processes = [FORK.Process(target=go, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0


def totals(redis: Any) -> dict[str, int]:
    return {event.decode(): int(n) for event, n in redis.hgetall(K.of("total", "default")).items()}


@pytest.mark.parametrize(
    "name",
    ["until_executing", "until_executed", "until_expired", "until_and_while", "coalesces", "rejects", "replaces"],
)
def test_42_a_hundred_enqueues_at_once_are_one_job(redis: Any, redis_server: Any, name: str) -> None:
    function = getattr(jobs, name)

    def work(connection: Any, number: int) -> None:
        queue = Queue("default", connection=connection)
        for _ in range(EACH):
            connection.rpush("returned", queue.enqueue(function, 1).id)

    Doors(redis)
    together(PROCESSES, work, redis_server.url)
    returned, found = set(redis.lrange("returned", 0, -1)), totals(redis)
    assert redis.llen("rq:queue:default") == 1
    if name in ("coalesces", "replaces"):
        assert found == {"accepted": 100, "superseded": 99}
        assert len(returned) == (1 if name == "coalesces" else 100)
    elif name == "rejects":
        assert found == {"accepted": 1, "rejected": 99} and len(returned) == 100
        assert redis.zcard(K.of("quarantined", "default")) == 99
    else:
        assert found == {"accepted": 1, "duplicate": 99} and len(returned) == 1


@pytest.mark.parametrize("name", ["until_executed", "coalesces", "replaces", "until_and_while", "while_executing"])
def test_an_enqueue_beside_a_settle_loses_no_job_and_never_runs_two(redis: Any, redis_server: Any, name: str) -> None:
    function = getattr(jobs, name)
    Doors(redis)

    def work(connection: Any, number: int) -> None:
        if number == 0:
            queue = Queue("default", connection=connection)
            for n in range(ROUNDS):
                arguments = (1, n) if name in ("coalesces", "replaces") else (1,)
                queue.enqueue(function, *arguments)
            connection.set("over", 1)
            return
        doors = Doors(connection)
        while True:
            over = connection.exists("over")
            found = doors.start(worker=f"w{number}")
            if found is None:
                if over and not connection.zcard(K.of("waiting", "default")):
                    return
                continue
            if connection.incr("at_once") > 1:
                connection.rpush("together", found[0])
            connection.set("newest", connection.hget(f"rq:job:{found[0]}", "description"))
            connection.decr("at_once")
            doors.settle(found[1])

    together(3, work, redis_server.url)
    found = totals(redis)
    assert not redis.llen("together"), "two ran at once"
    ended = found.get("completed", 0) + found.get("superseded", 0)
    assert found["accepted"] == ended, found
    assert found["accepted"] + found.get("duplicate", 0) == ROUNDS
    if name in ("coalesces", "replaces"):
        assert f"1, {ROUNDS - 1})".encode() in redis.get("newest"), "the newest arguments ran last"
    assert not redis.hlen(K.static("leases")) and not redis.keys(K.of("line", "*"))
    assert not redis.keys(K.of("holders", "[UX]:*")), "no lock stays"
