"""``explain`` says why a job is not running, for every state, and survives whatever stands in Redis."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.utils import translation

from queueops.operations import explain, isolate, limit, pause, quarantine, replay, selection
from queueops.rdb.keys import control_id
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "7")


def fact(found: Any, label: str) -> str:
    return next(line.text for line in found.facts if line.label == label)


@pytest.fixture
def served(doors: Doors) -> Doors:
    """A queue that a worker of ours asks for jobs."""
    doors.claim(idle=False)
    return doors


def test_an_unknown_id(doors: Doors) -> None:
    for job_id in ("nobody", "", "a\x00b", "x" * 1000, "<script>"):
        found = explain(job_id)
        assert found.state == "unknown"
        assert found.sentence.startswith("No job has this id")


def test_a_queued_job_waits_its_turn(served: Doors) -> None:
    served.enqueue()
    found = explain(served.enqueue())
    assert (found.state, found.sentence) == ("queued", found.sentence)
    assert "waits its turn on queue default: 1 of 2 jobs" in found.sentence


def test_a_queue_that_no_worker_serves(doors: Doors) -> None:
    found = explain(doors.enqueue(queue="lonely"))
    assert "no worker of queueops has ever taken jobs from queue lonely" in found.sentence
    assert found.blocked_by == "no worker"


@pytest.mark.parametrize(("kind", "name"), [("queue", "default"), ("all", ""), ("function", "app.f")])
def test_a_pause_with_who_why_and_until(served: Doors, kind: str, name: str) -> None:
    job = served.enqueue()
    pause(kind, name, actor="ann", reason="courier is down", seconds=600)
    served.start()
    found = explain(job)
    assert "paused by ann (courier is down), until" in found.sentence
    assert found.blocked_by.startswith("pause")
    assert found.state == ("parked" if kind == "function" else "queued")


def test_an_isolated_job(served: Doors) -> None:
    job = served.enqueue()
    isolate("function", "app.f", actor="ann", reason="poison")
    assert "goes to quarantine when its turn comes: isolated by ann (poison)" in explain(job).sentence


def test_a_parked_job_names_control_holder_place_and_next_try(served: Doors) -> None:
    first = served.enqueue(LOCK)
    _, token = served.start() or ("", "")
    served.enqueue(LOCK)
    third = served.enqueue(LOCK)
    assert served.start() is None
    found = explain(third)
    assert found.state == "parked"
    expected = f"It waits for lock book, key 7: held by job {first} on w1 (1 of 1); place 2 of 2."
    assert found.sentence == expected
    assert found.blocked_by == LOCK["i"]
    assert "for 0 s, lease ends in" in fact(found, f"holder {token[:8]}")
    assert found.next_try is not None


def test_a_holder_whose_owner_is_gone(served: Doors) -> None:
    served.redis.zadd(K.of("holders", LOCK["i"]), {"lost-token": 9e15})
    job = served.enqueue(LOCK)
    assert served.start() is None
    found = explain(job)
    assert "held by somebody outside a job" in found.sentence
    assert fact(found, "holder lost-tok").endswith("its owner is gone")


def test_a_rate_says_when(served: Doors) -> None:
    rate = claim("rate", "mail", per=100)
    definition = {"kind": "rate", "name": "mail", "limit": 1, "per": 100_000_000, "strategy": "sliding", "burst": 0}
    served.redis.hset(K.static("controls"), control_id("rate", "mail"), json.dumps(definition))
    served.enqueue(rate)
    served.start()
    job = served.enqueue(rate)
    assert served.start() is None
    found = explain(job)
    assert "1 of 1 starts in 1 min 40 s are used" in found.sentence
    assert 80e6 < (found.next_try or 0) - time.time() * 1e6 < 101e6


def test_a_limit_of_zero_says_who_set_it(served: Doors) -> None:
    definition = {"kind": "semaphore", "name": "disk", "limit": 3, "per": 0, "strategy": "sliding", "burst": 0}
    served.redis.hset(K.static("controls"), control_id("semaphore", "disk"), json.dumps(definition))
    limit("disk", 0, actor="ann", reason="disk is full")
    job = served.enqueue(claim("semaphore", "disk", n=3))
    assert served.start() is None
    assert "its limit is 0, set by ann (disk is full), until somebody lifts it" in explain(job).sentence


def test_running_and_the_end_of_its_lease(served: Doors) -> None:
    job = served.enqueue()
    _, token = served.start(span=0.05) or ("", "")
    assert explain(job).sentence.startswith("It is running on w1")
    time.sleep(0.08)
    assert "whose lease ended" in explain(job).sentence
    served.redis.zadd(K.static("lease_ends"), {token: 9e15})
    served.settle(token)
    assert (explain(job).state, explain(job).sentence[:25]) == ("completed", "It has run and completed.")


def test_quarantined_replayed_discarded_and_lost(served: Doors, who: dict[str, str]) -> None:
    job = served.enqueue()
    quarantine(job, **who)
    assert "does not run until replayed: by ann: because." in explain(job).sentence
    selection.refresh()
    new = replay(job, **who).outcomes[0][2]
    assert explain(job).sentence == f"It was replayed as {new}."
    assert explain(new).state == "queued"
    assert fact(explain(new), "replay of").startswith(job)
    served.redis.flushall()
    assert explain(job).sentence.startswith(f"It was replayed as {new};")
    lost = Doors(served.redis).enqueue()
    quarantine(lost, **who)
    selection.refresh()
    served.redis.flushall()
    assert "its copy is kept and can be replayed" in explain(lost).sentence


def test_deferred_behind_a_cancelled_parent(served: Doors) -> None:
    parent = served.enqueue()
    served.redis.hset(K.of("rq_job", parent), "status", "canceled")
    child = {"data": b"x", "status": "deferred", "origin": "default", "dependency_ids": json.dumps([parent])}
    served.redis.hset(K.of("rq_job", "child"), mapping=child)
    assert "will not finish: it stays deferred" in explain("child").sentence


def test_scheduled_and_deferred(served: Doors) -> None:
    job = served.enqueue(mode="schedule", due=int(time.time()) + 7200, mapping={"status": "scheduled"})
    found = explain(job)
    assert (found.state, "in 1 h 59 min" in found.sentence or "in 2 h" in found.sentence) == ("scheduled", True)
    child = {"data": b"x", "status": "deferred", "origin": "default", "dependency_ids": json.dumps([job, "nobody"])}
    served.redis.hset(K.of("rq_job", "child"), mapping=child)
    found = explain("child")
    assert f"{job} (scheduled), nobody (gone)" in found.sentence


def test_failed_and_suspended(served: Doors) -> None:
    job = served.enqueue()
    _, token = served.start() or ("", "")
    served.settle(token, "failed")
    assert explain(job).sentence.startswith("It failed and is not tried again")
    other = served.enqueue()
    served.redis.set(K.static("rq_suspended"), 1)
    assert "suspended" in explain(other).sentence


@pytest.mark.parametrize(
    "mapping",
    [
        {"status": "queued"},
        {"data": b"\x80\x05broken", "status": "weird", "origin": b"\xff\xfe", "created_at": "yesterday"},
        {"data": b"x", "status": "deferred", "dependency_ids": "not json", "qo_claims": "[1, {]"},
        {"data": b"x", "status": "scheduled", "qo_parked": "S:x\x1fy", "qo_since": "never", "origin": "q"},
        {"data": b"x", "status": "scheduled", "qo_claims": '[{"i": "L:a"}, 5, null]', "qo_parked": "", "origin": "q"},
        {"data": b"x", "status": "failed", "origin": "<img src=x onerror=alert(1)>", "qo_func": "{{7*7}}"},
        {"qo_replays": "many"},
    ],
)
def test_half_and_hostile_jobs_still_get_an_answer(served: Doors, mapping: dict[str, Any]) -> None:
    served.redis.hset(K.of("rq_job", "odd"), mapping=mapping)
    served.redis.hset(K.static("quarantine_info"), "other", "{broken")
    found = explain("odd")
    assert found.sentence
    json.dumps(found.as_dict())


def test_a_job_heavier_than_the_limit_in_force_waits_for_another_limit(doors: Doors, who: dict[str, str]) -> None:
    heavy = doors.enqueue(claim("semaphore", "s3", n=4, w=3))
    run(doors.redis, "publish", "r1", "S:s3", '{"kind": "semaphore", "name": "s3", "limit": 4}')
    limit("semaphore:s3", 2, **who)
    assert doors.start() is None
    said = explain(heavy).sentence
    assert said == "It weighs 3, and the limit of semaphore s3 is 2: it cannot start before that is raised."


def test_in_japanese(doors: Doors) -> None:
    job = doors.enqueue(claim("lock", "book", "1"))
    doors.start()
    with translation.override("ja"):
        assert "実行中です" in explain(job).sentence
        assert explain("nope").sentence.startswith("この ID のジョブはありません")


def test_a_time_centuries_ahead(served: Doors) -> None:
    job = served.enqueue(mode="schedule", due=10_413_792_000, mapping={"status": "scheduled"})
    found = explain(job)
    assert "scheduled for 2300-01-01" in found.sentence
