from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def discard(doors: Doors, job: str) -> tuple[str, str]:
    outcome, why, _ = run(doors.redis, "discard", job, "ann", "useless", "")
    return outcome.decode(), why.decode()


def test_an_open_job_counts_as_discarded(doors: Doors) -> None:
    job = doors.enqueue()
    assert discard(doors, job)[0] == "done"
    assert doors.queued() == []
    assert not doors.redis.exists(K.of("rq_job", job))
    assert doors.totals()["discarded"] == 1
    assert discard(doors, job)[0] == "gone"


def test_a_held_job_was_not_open_and_counts_apart(doors: Doors) -> None:
    job = doors.enqueue()
    run(doors.redis, "quarantine", job, "ann", "why")
    doors.redis.xadd(K.of("rq_results", job), {"x": 1})
    assert discard(doors, job)[0] == "done"
    assert doors.totals().get("discarded") is None
    assert doors.totals()["discarded_held"] == 1
    for key in (K.of("quarantined", "default"), K.of("rq_failed", "default"), K.of("rq_results", job)):
        assert not doors.redis.exists(key)


def test_a_waiter_leaves_its_line(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    job = doors.enqueue(LOCK)
    assert doors.start() is None
    discard(doors, job)
    assert doors.line(LOCK["i"]) == []
    assert not doors.redis.exists(K.of("parked", "default"))


def test_running_completed_and_replayed_jobs_stay(doors: Doors) -> None:
    running = doors.enqueue()
    _, token = doors.start() or ("", "")
    assert discard(doors, running)[0] == "skipped"
    doors.settle(token)
    assert discard(doors, running) == ("skipped", "neither open nor held: it is finished")
    job = doors.enqueue()
    run(doors.redis, "quarantine", job, "ann", "why")
    run(doors.redis, "replay", job, "new", "ann", "why", "now", "")
    assert discard(doors, job) == ("skipped", "already replayed as new")


def test_half_a_job_in_quarantine_can_go(doors: Doors) -> None:
    doors.redis.hset(K.of("rq_job", "half"), "origin", "default")
    doors.redis.rpush(K.of("rq_queue", "default"), "half")
    assert doors.start() is None
    assert discard(doors, "half")[0] == "done"
    assert not doors.redis.exists(K.of("quarantined", "default"))
