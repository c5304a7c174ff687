from __future__ import annotations

import json

import pytest

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


@pytest.mark.parametrize("status", [None, "started", "finished", "failed", "stopped", "canceled"])
def test_removes_what_does_not_wait(status: str | None, doors: Doors) -> None:
    doors.redis.zadd(K.of("waiting", "q"), {"j": 1})
    if status:
        doors.redis.hset(K.of("rq_job", "j"), "status", status)
    assert run(doors.redis, "tidy_waiting", 20, json.dumps(["q"])) == [1, 1]
    assert not doors.redis.exists(K.of("waiting", "q"))


@pytest.mark.parametrize("status", ["queued", "scheduled", "deferred", "rate_limited", "ready_to_enqueue", "created"])
def test_leaves_what_waits(status: str, doors: Doors) -> None:
    doors.redis.zadd(K.of("waiting", "q"), {"j": 1})
    doors.redis.hset(K.of("rq_job", "j"), "status", status)
    assert run(doors.redis, "tidy_waiting", 20, json.dumps(["q"])) == [1, 0]


def test_looks_at_a_bounded_number_of_heads(doors: Doors) -> None:
    doors.redis.zadd(K.of("waiting", "q"), {f"j{i}": i for i in range(5_000)})
    assert run(doors.redis, "tidy_waiting", 20, json.dumps(["q", "none"])) == [20, 20]
    assert doors.redis.zcard(K.of("waiting", "q")) == 4_980


def test_a_waiting_job_of_the_doors_stays(doors: Doors) -> None:
    job = doors.enqueue()
    run(doors.redis, "tidy_waiting", 20, json.dumps(["default"]))
    assert doors.redis.zscore(K.of("waiting", "default"), job) is not None
