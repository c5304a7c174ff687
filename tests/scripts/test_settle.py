from __future__ import annotations

from typing import Any

import pytest

from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def test_completes_once_and_a_second_time_is_lost(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    assert doors.settle(token).code == "OK"
    assert doors.settle(token).code == "LOST"
    assert doors.totals() == {"accepted": 1, "started": 1, "completed": 1}
    assert doors.redis.zcard(K.of("holders", LOCK["i"])) == 0
    assert doors.redis.zcard(K.static("instances")) == 0 and doors.field(job, "status") == "finished"


@pytest.mark.parametrize(
    ("told", "options", "recorded"),
    [
        ("failed", {}, "failed"),
        ("failed", {"quarantine": 1, "kind": "failed", "reason": "why"}, "quarantined"),
        ("retried", {}, "retried"),
        ("put_back", {}, "put_back"),
        ("postponed", {"seconds": 60}, "postponed"),
        ("discarded", {}, "discarded"),
        ("crashed", {}, "crashed"),
        ("completed", {"repeats": 1}, "completed"),
    ],
)
def test_asked_again_after_a_lost_answer(doors: Doors, told: str, options: dict[str, Any], recorded: str) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    doors.redis.sadd(K.of("rq_job", job) + ":dependents", "other")
    first = doors.settle(token, told, job=job, **options)
    before = doors.totals()
    again = doors.settle(token, told, job=job, **options)
    assert (first.code, first.outcome) == ("OK", recorded) and (again.code, again.outcome) == ("OK", recorded)
    assert again.dependents == (recorded in ("failed", "quarantined"))
    assert doors.totals() == before and "lease.lost" not in doors.log()
    assert doors.settle(token, "discarded" if told != "discarded" else "failed", job=job).code == "LOST"


def test_a_lost_run_changes_nothing(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    doors.settle(token, "crashed", reason="test")
    second = doors.start()
    assert second and second[0] == job
    answer = doors.settle(token, commands=[("HSET", K.of("rq_job", job), "status", "finished")])
    assert answer.code == "LOST" and doors.field(job, "status") == "started"
    assert doors.redis.zscore(K.of("holders", LOCK["i"]), second[1])
    assert "lease.lost" in doors.log()


def test_replays_rqs_commands_and_survives_one_that_fails(doors: Doors) -> None:
    doors.enqueue()
    _, token = doors.start() or ("", "")
    commands = [("SET", "rq:a", "1"), ("LPUSH", "rq:a", "x"), ("SET", "rq:b", "2")]
    assert doors.settle(token, commands=commands).code == "OK"
    assert doors.redis.get("rq:b") == b"2" and "job.settle_problem" in doors.log()


def test_dependents_stop_a_guarded_settle_before_any_change(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    doors.redis.sadd(K.of("rq_job", job) + ":dependents", "other")
    assert doors.settle(token, commands=[("SET", "rq:a", "1")], guard=1).code == "DEPENDENTS"
    assert not doors.redis.exists("rq:a") and doors.redis.zcard(K.of("holders", LOCK["i"])) == 1
    assert doors.settle(token).dependents


def test_hands_the_lock_to_the_oldest_waiter_with_an_offer(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    waiters = [doors.enqueue(LOCK) for _ in range(3)]
    assert doors.start() is None and doors.line(LOCK["i"]) == waiters
    doors.settle(token)
    assert doors.queued() == waiters[:1] and doors.line(LOCK["i"]) == waiters[1:]
    assert doors.redis.zscore(K.of("offers", LOCK["i"]), waiters[0])
    assert doors.totals()["woken"] == 1


def test_a_waiter_refused_elsewhere_moves_lines_without_a_start(doors: Doors) -> None:
    disk = claim("semaphore", "disk", n=1)
    doors.enqueue(LOCK)
    doors.enqueue(disk)
    _, lock_token = doors.start() or ("", "")
    _, disk_token = doors.start() or ("", "")
    both = doors.enqueue(LOCK, disk)
    assert doors.start() is None and doors.line(LOCK["i"]) == [both]
    doors.settle(lock_token)
    assert doors.line(LOCK["i"]) == [] and doors.line(disk["i"]) == [both] and doors.queued() == []
    doors.settle(disk_token)
    assert doors.queued() == [both] and doors.totals()["parked"] == 1


def test_put_back_counts_no_attempt_and_stands_in_front(doors: Doors) -> None:
    job, _ = doors.enqueue(), doors.enqueue()
    since = doors.field(job, "qo_since")
    _, token = doors.start() or ("", "")
    doors.settle(token, "put_back")
    assert doors.queued()[0] == job and doors.field(job, "qo_attempts") == "0" and doors.field(job, "qo_since") == since


def test_failures_below_the_rule_fail_and_at_it_quarantine(doors: Doors) -> None:
    job = doors.enqueue(mapping={"qo_policy": '{"after": 2, "crashes": 2}'})
    _, token = doors.start() or ("", "")
    assert doors.settle(token, "failed", fingerprint="abc").outcome == "failed"
    doors.redis.hset(K.of("rq_job", job), "status", "queued")
    doors.redis.rpush(K.of("rq_queue", "default"), job)
    _, token = doors.start() or ("", "")
    assert doors.settle(token, "failed", fingerprint="abc", error="ValueError: x").outcome == "quarantined"
    assert doors.redis.zscore(K.of("rq_failed", "default"), job) == float("inf")
    assert doors.redis.smembers(K.static("quarantine_todo")) == {job.encode()}


def test_a_hash_deleted_meanwhile_does_not_come_back_in_part(doors: Doors) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.redis.delete(K.of("rq_job", job))
    doors.settle(token, commands=[("HSET", K.of("rq_job", job), "status", "finished")])
    assert not doors.redis.exists(K.of("rq_job", job))


def test_rates_stay_charged(doors: Doors) -> None:
    rate = claim("rate", "mail", n=2, per=60)
    doors.enqueue(rate)
    _, token = doors.start() or ("", "")
    doors.settle(token, "failed")
    assert doors.redis.zcard(K.of("holders", rate["i"])) == 1


def test_the_bell_wakes_two_workers_for_two_jobs(doors: Doors) -> None:
    for worker in ("a", "b"):
        doors.claim(worker=worker, idle=True)
    doors.enqueue()
    doors.enqueue()
    assert [doors.redis.llen(K.of("bell", worker)) for worker in ("a", "b")] == [1, 1]
