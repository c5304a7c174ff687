from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


def scheduled(doors: Doors, seconds: int, limit: str = "key") -> None:
    doors.redis.hset(K.of("rq_job", "j"), mapping={"status": "scheduled", "rate_limit_key": limit})
    doors.redis.zadd(K.of("rq_scheduled", "q"), {"j": doors.redis.time()[0] + seconds})


def test_a_due_job_joins_those_held_by_its_limit(doors: Doors) -> None:
    scheduled(doors, -5)
    assert run(doors.redis, "rq_limit_due", "q", "j", "key", 2) == 1
    assert doors.redis.hget(K.of("rq_job", "j"), "status") == b"rate_limited"
    assert doors.redis.zcard(K.of("rq_limit", "key:rate_limited")) == 1
    assert doors.redis.hget(K.of("rq_limit", "key"), "concurrency") == b"2"
    assert doors.redis.sismember(K.static("rq_limits"), "key")
    assert not doors.redis.exists(K.of("rq_scheduled", "q"))


def test_once_is_enough(doors: Doors) -> None:
    scheduled(doors, -5)
    run(doors.redis, "rq_limit_due", "q", "j", "key", 2)
    doors.redis.hset(K.of("rq_job", "j"), "status", "queued")
    assert run(doors.redis, "rq_limit_due", "q", "j", "key", 2) == 0
    assert doors.redis.hget(K.of("rq_job", "j"), "status") == b"queued"


def test_what_is_not_due_or_governed_otherwise_is_left(doors: Doors) -> None:
    scheduled(doors, 50)
    assert run(doors.redis, "rq_limit_due", "q", "j", "key", 2) == 0
    scheduled(doors, -5, limit="other")
    assert run(doors.redis, "rq_limit_due", "q", "j", "key", 2) == 0
    assert doors.redis.zcard(K.of("rq_scheduled", "q")) == 1
