"""The status of a job may be an old one: only membership tells whether somebody else has recorded its end."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def crash(doors: Doors, token: str, how: str) -> None:
    if how == "told":
        doors.settle(token, "crashed", commands=[], reason="signal 9")
    elif how == "claim":
        assert isinstance(doors.claim("empty", previous=token), door.Empty)
    else:
        doors.redis.zadd(K.static("lease_ends"), {token: 1})
        doors.start("empty") if how == "due" else doors.settle(token)


@pytest.mark.parametrize("how", ["told", "claim", "due"])
@pytest.mark.parametrize(
    "stale",
    [
        {"status": "queued", "worker_name": ""},
        {"status": "scheduled"},
        {"status": "started", "worker_name": "the-one-before"},
        {"status": "failed"},
        {"status": "canceled"},
        {"status": "deferred"},
    ],
    ids=lambda stale: stale["status"],
)
def test_an_old_status_saved_during_the_run_loses_no_job(doors: Doors, stale: Any, how: str) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    doors.redis.hset(K.of("rq_job", job), mapping=stale)
    crash(doors, token, how)
    assert doors.queued() == [job] and doors.field(job, "status") == "queued"
    assert doors.totals()["crashed"] == 1
    assert (doors.start() or [""])[0] == job


def test_nor_when_the_clean_up_of_rq_has_dropped_its_entry(doors: Doors) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.redis.hset(K.of("rq_job", job), mapping={"status": "queued", "worker_name": ""})
    doors.redis.delete(K.of("rq_wip", "default"))
    crash(doors, token, "told")
    assert doors.queued() == [job]


def test_a_late_end_with_an_old_status_is_recorded(doors: Doors) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.redis.hset(K.of("rq_job", job), "status", "queued")
    doors.redis.zadd(K.static("lease_ends"), {token: 1})
    assert doors.settle(token).outcome == "completed"
    assert doors.totals() == {"accepted": 1, "started": 1, "completed": 1}


@pytest.mark.parametrize(
    ("status", "told", "put"),
    [
        ("queued", "retried", lambda r, job: r.rpush(K.of("rq_queue", "default"), job)),
        ("scheduled", "retried", lambda r, job: r.zadd(K.of("rq_scheduled", "default"), {job: 1})),
        ("canceled", "crashed", lambda r, job: r.zadd(K.of("rq_canceled", "default"), {job: 1})),
        ("failed", "failed", lambda r, job: r.zadd(K.of("rq_failed", "default"), {job: 1})),
    ],
)
def test_what_the_clean_up_of_rq_has_recorded_holds(doors: Doors, status: str, told: str, put: Any) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.redis.hset(K.of("rq_job", job), "status", status)
    doors.redis.delete(K.of("rq_wip", "default"))
    put(doors.redis, job)
    assert doors.settle(token, "crashed", commands=[], reason="signal 9").outcome == told
    assert doors.field(job, "status") == status
    assert "crashed" not in doors.totals()
    assert doors.queued() == ([job] if status == "queued" else [])
