from __future__ import annotations

import json

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def plain(doors: Doors) -> tuple[str, str]:
    """A job of plain RQ, claimed but not adopted."""
    job = f"plain-{len(doors.queued())}-{doors.redis.dbsize()}"
    doors.redis.hset(K.of("rq_job", job), mapping={"data": b"x", "status": "queued", "origin": "default"})
    doors.redis.rpush(K.of("rq_queue", "default"), job)
    found = doors.claim()
    assert found.adopt and found.job_id == job
    return job, doors.token


def adopt(doors: Doors, token: str, *claims: object) -> str:
    return door.adopt(doors.redis, token, json.dumps(claims), "app.f", "{}", 30, False)


def test_takes_all_and_counts_the_start(doors: Doors) -> None:
    _, token = plain(doors)
    assert doors.totals() == {}
    assert adopt(doors, token, LOCK) == "TAKEN"
    assert doors.redis.zscore(K.of("holders", LOCK["i"]), token)
    assert doors.totals() == {"started": 1}
    doors.settle(token)
    assert not doors.redis.exists(K.of("holders", LOCK["i"]))


def test_parks_as_if_never_started(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    job, token = plain(doors)
    assert adopt(doors, token, LOCK) == "PARKED"
    assert doors.line(LOCK["i"]) == [job] and doors.field(job, "qo_attempts") == "0"
    assert doors.redis.zcard(K.of("rq_wip", "default")) == 1
    assert doors.redis.hlen(K.static("leases")) == 1


def test_respects_pause_and_isolation(doors: Doors) -> None:
    _, token = plain(doors)
    doors.redis.hset(K.static("paused"), "f:app.f", '{"until": 0}')
    assert adopt(doors, token, LOCK) == "PARKED"
    doors.redis.delete(K.static("paused"))
    job, token = plain(doors)
    doors.redis.hset(K.static("isolated"), "f:app.f", "{}")
    assert adopt(doors, token, LOCK) == "QUARANTINED"
    assert doors.field(job, "status") == "failed"


def test_drop_and_lost(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    job, token = plain(doors)
    assert adopt(doors, token, claim("lock", "book", "1", o="drop")) == "SKIPPED"
    assert doors.field(job, "status") == "canceled"
    assert adopt(doors, token, LOCK) == "LOST"
