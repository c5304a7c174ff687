"""SCENARIOS.md 51, 52, 54, 59: pauses, stalls, partitions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queueops import operations
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim


def pause(doors: Doors, field: str, until: int = 0) -> None:
    run(doors.redis, "pause", field, json.dumps({"until": until, "by": "ann", "id": field}), "ann", "test")


def resume(doors: Doors, field: str) -> None:
    run(doors.redis, "resume", field, "", "ann", "test", 100)


@pytest.mark.django_db(transaction=True)
def test_scenario_51_resume_all_leaves_a_queue_paused_that_was_paused_by_itself(redis: Any) -> None:
    doors = Doors(redis)
    operations.pause("queue", "low", actor="ann", reason="its own")
    operations.pause("all", "", actor="ann", reason="everything")
    doors.enqueue(queue="low")
    doors.enqueue(queue="default")
    assert doors.start("default", "low") is None
    operations.resume("all", "", actor="ann", reason="done")
    found = doors.claim("default", "low", idle=False)
    assert found.queue == "default"
    assert doors.start("default", "low") is None
    operations.resume("queue", "low", actor="ann", reason="done")
    assert doors.start("default", "low")


def test_scenario_51_one_queue_only_and_a_timed_pause_lifts_itself(doors: Doors, clock: Any) -> None:
    doors.enqueue(queue="low")
    doors.enqueue(queue="default")
    pause(doors, "q:low", until=clock.now + 30_000_000)
    assert doors.claim("low", "default", idle=False).queue == "default"
    clock.advance(29.999)
    assert doors.start("low") is None
    clock.advance(0.001)
    assert doors.start("low")


def test_scenario_52_due_jobs_do_not_start_while_paused_running_ones_finish(doors: Doors, clock: Any) -> None:
    doors.enqueue()
    found = doors.start()
    assert found
    later = [doors.enqueue(mode="schedule", due=str(clock.now // 1_000_000 + 5)) for _ in range(3)]
    pause(doors, "q:default")
    clock.advance(20)
    assert doors.start() is None
    assert doors.settle(found[1]).outcome == "completed"
    clock.advance(10)
    assert doors.start() is None
    resume(doors, "q:default")
    started = [doors.start() for _ in range(4)]
    assert {job[0] for job in started if job} == set(later)
    assert started[3] is None


def test_scenario_54_too_many_stalls_quarantine_the_job_whatever_its_retries(doors: Doors, clock: Any) -> None:
    job = doors.enqueue(mapping={"retries_left": 5, "qo_policy": '{"after": 9, "crashes": 3}'})
    for stall in (1, 2):
        assert doors.start(worker="dies")
        clock.advance(31)
        run(doors.redis, "tick", '["default"]', "2030-01-01T00:00:00.000000Z")
        assert doors.field(job, "qo_crashes") == str(stall)
        assert doors.queued() == [job]
        if stall == 1:  # an ordinary failure between them keeps the count
            found = doors.start()
            assert found
            key = K.of("rq_job", job)
            pushed = ("RPUSH", K.of("rq_queue", "default"), job)
            doors.settle(found[1], "retried", commands=[("HSET", key, "status", "queued"), pushed])
            assert doors.field(job, "qo_crashes") == "1"
    assert doors.start(worker="dies")
    clock.advance(31)
    assert doors.start() is None
    info = json.loads(doors.redis.hget(K.static("quarantine_info"), job))
    assert info["crashes"] == 3
    assert info["kind"] == "crashes"
    assert doors.totals()["quarantined"] == 1


def test_scenario_54_a_renewing_job_is_never_stalled(doors: Doors, clock: Any) -> None:
    from queueops.rdb import doors as door

    doors.enqueue()
    found = doors.start()
    assert found
    for _ in range(50):
        clock.advance(10)
        assert door.renew(doors.redis, found[1], 60)
        assert doors.start() is None
    assert doors.settle(found[1]).outcome == "completed"


@pytest.mark.django_db(transaction=True)
def test_scenario_59_keys_of_one_control_are_independent_and_a_parked_job_says_why(redis: Any, clock: Any) -> None:
    doors = Doors(redis)
    ann, bob = (claim("rate", "mail", key, n=1, per=60) for key in ("ann", "bob"))
    doors.enqueue(ann)
    waiting = doors.enqueue(ann)
    doors.enqueue(bob)
    assert doors.start()
    assert doors.start()
    assert doors.start() is None
    assert doors.field(waiting, "qo_parked") == ann["i"]
    assert doors.redis.zscore(K.static("pump"), ann["i"]) == clock.now + 60_000_000
    said = operations.explain(waiting)
    assert "mail" in said.sentence
    assert "ann" in said.sentence
