from __future__ import annotations

import pytest

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim


def run_now(doors: Doors, job: str, call: str = "call") -> tuple[str, str]:
    outcome, why, _ = run(doors.redis, "run_now", job, "ann", "sooner", "2025-01-01T00:00:00.000000Z", call)
    return outcome.decode(), why.decode()


def scheduled(doors: Doors, **more: object) -> str:
    return doors.enqueue(mode="schedule", due="+3600", mapping={"status": "scheduled"}, **more)


def test_goes_on_its_queue_at_once(doors: Doors) -> None:
    job = scheduled(doors)
    before = doors.totals()
    assert run_now(doors, job) == ("done", "")
    assert doors.queued() == [job]
    assert doors.redis.zscore(K.of("rq_scheduled", "default"), job) is None
    assert doors.redis.zscore(K.of("waiting", "default"), job)
    assert doors.totals() == before
    assert doors.log()[-1] == "job.run_now"
    assert (doors.start() or ("",))[0] == job


def test_the_same_call_again_finds_it_done_and_another_one_says_why_not(doors: Doors) -> None:
    job = scheduled(doors)
    run_now(doors, job)
    assert run_now(doors, job) == ("done", "")
    assert run_now(doors, job, "other") == ("skipped", "on its queue already")
    doors.start()
    assert run_now(doors, job) == ("done", "")
    assert run_now(doors, job, "other") == ("skipped", "running already")
    assert doors.queued() == []


def test_only_the_control_decides_about_a_parked_job(doors: Doors) -> None:
    held = claim("semaphore", "disk")
    doors.enqueue(held)
    doors.start()
    job = doors.enqueue(held)
    assert doors.start() is None
    assert run_now(doors, job) == ("skipped", "parked (disk): only the control decides")
    assert doors.queued() == []


def test_a_ttl_stays_and_no_other_expiry_does(doors: Doors) -> None:
    job, other = scheduled(doors, ttl=1000), scheduled(doors)
    doors.redis.expire(K.of("rq_job", other), 100)
    doors.redis.hset(K.of("rq_job", job), "ttl", 1000)
    run_now(doors, job)
    run_now(doors, other)
    assert doors.redis.ttl(K.of("rq_job", job)) > 0
    assert doors.redis.ttl(K.of("rq_job", other)) == -1


@pytest.mark.parametrize("status", ["finished", "failed", "canceled", "deferred"])
def test_only_what_is_scheduled(doors: Doors, status: str) -> None:
    job = doors.enqueue(mapping={"status": status})
    assert run_now(doors, job) == ("skipped", f"not scheduled: it is {status}")


def test_unknown_half_and_lost_ones(doors: Doors) -> None:
    assert run_now(doors, "nobody")[0] == "gone"
    half, lost = scheduled(doors), scheduled(doors)
    doors.redis.hdel(K.of("rq_job", half), "data")
    doors.redis.zrem(K.of("rq_scheduled", "default"), lost)
    assert run_now(doors, half) == ("skipped", "half a job: its data is missing")
    assert run_now(doors, lost) == ("skipped", "it says scheduled, but is in no schedule")
