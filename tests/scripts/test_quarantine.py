from __future__ import annotations

import json
import time

import pytest

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def quarantine(doors: Doors, job: str) -> tuple[str, str]:
    outcome, why, _ = run(doors.redis, "quarantine", job, "ann", "looks wrong")
    return outcome.decode(), why.decode()


def assert_aside(doors: Doors, job: str) -> None:
    assert doors.redis.zscore(K.of("quarantined", "default"), job)
    assert doors.redis.zscore(K.of("rq_failed", "default"), job) == float("inf")
    assert doors.field(job, "status") == "failed"
    assert doors.totals()["quarantined"] == 1
    info = json.loads(doors.redis.hget(K.static("quarantine_info"), job))
    assert info["reason"] == "by ann: looks wrong"
    assert doors.redis.sismember(K.static("quarantine_todo"), job)
    for family in ("waiting", "parked", "rq_scheduled", "rq_deferred"):
        assert doors.redis.zscore(K.of(family, "default"), job) is None, family


def test_a_queued_job(doors: Doors) -> None:
    job = doors.enqueue()
    assert quarantine(doors, job) == ("done", "")
    assert_aside(doors, job)
    assert doors.queued() == []
    assert quarantine(doors, job) == ("skipped", "already quarantined")


def test_an_id_that_stands_twice_on_the_list_leaves_it_altogether(doors: Doors) -> None:
    job = doors.enqueue()
    doors.redis.rpush(K.of("rq_queue", "default"), job, "other", job)
    quarantine(doors, job)
    assert doors.queued() == ["other"]


def test_a_parked_job_leaves_its_line_and_the_next_one_moves_up(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    second, third = doors.enqueue(LOCK), doors.enqueue(LOCK)
    assert doors.start() is None
    quarantine(doors, second)
    assert_aside(doors, second)
    assert doors.line(LOCK["i"]) == [third]
    doors.settle(token)
    assert (doors.start() or ("",))[0] == third


def test_an_offered_job_gives_its_offer_to_the_next(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    second, third = doors.enqueue(LOCK), doors.enqueue(LOCK)
    assert doors.start() is None
    doors.settle(token)
    assert doors.queued() == [second]
    quarantine(doors, second)
    assert_aside(doors, second)
    assert (doors.start() or ("",))[0] == third


def test_a_scheduled_job(doors: Doors) -> None:
    job = doors.enqueue(mode="schedule", due=int(time.time()) + 1000, mapping={"status": "scheduled"})
    assert quarantine(doors, job)[0] == "done"
    assert_aside(doors, job)


def test_a_deferred_job_is_not_enqueued_by_its_parent_any_more(doors: Doors) -> None:
    doors.redis.hset(
        K.of("rq_job", "child"),
        mapping={"data": b"x", "status": "deferred", "origin": "default", "dependency_ids": '["parent"]'},
    )
    doors.redis.sadd(K.of("rq_job", "parent:dependents"), "child", "sister")
    doors.redis.zadd(K.of("rq_deferred", "default"), {"child": 1})
    assert quarantine(doors, "child")[0] == "done"
    assert_aside(doors, "child")
    assert doors.redis.smembers(K.of("rq_job", "parent:dependents")) == {b"sister"}


def test_a_running_job_is_refused_with_its_worker(doors: Doors) -> None:
    job = doors.enqueue()
    doors.start()
    outcome, why = quarantine(doors, job)
    assert outcome == "skipped"
    assert why.startswith("running on w1")
    assert "quarantined" not in doors.totals()


@pytest.mark.parametrize("status", ["finished", "failed", "canceled", "stopped", "rate_limited", "weird"])
def test_what_is_not_open_is_refused(doors: Doors, status: str) -> None:
    job = doors.enqueue(mapping={"status": status})
    assert quarantine(doors, job)[0] == "skipped"
    assert doors.field(job, "status") == status


def test_an_unknown_id_is_gone_and_broken_claims_do_not_matter(doors: Doors) -> None:
    assert quarantine(doors, "nobody")[0] == "gone"
    job = doors.enqueue(controlled=False, mapping={"qo_claims": '{"broken', "dependency_ids": "]"})
    assert quarantine(doors, job)[0] == "done"


def test_in_a_long_list_only_both_ends_are_searched_and_the_claim_drops_the_rest(doors: Doors) -> None:
    first, middle = doors.enqueue(), doors.enqueue()
    others = [f"x{n}" for n in range(100_001)]
    doors.redis.lpush(K.of("rq_queue", "default"), *others)
    doors.redis.rpush(K.of("rq_queue", "default"), *others)
    last = doors.enqueue()
    assert quarantine(doors, last)[0] == "done"
    assert doors.redis.lpos(K.of("rq_queue", "default"), last) is None
    assert quarantine(doors, middle)[0] == "done"
    assert run(doors.redis, "discard", first, "ann", "why", "")[0] == b"done"
    doors.redis.ltrim(K.of("rq_queue", "default"), 100_001, 100_002)
    assert doors.queued() == [first, middle]
    assert doors.start() is None
    assert doors.queued() == []
    assert doors.totals() == {"accepted": 3, "quarantined": 2, "discarded": 1}
