from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from redis.exceptions import ResponseError

from queueops.rdb import doors as door
from queueops.rdb.scripts import ScriptError, run
from tests.scripts.kit import Doors, K, claim, eventually

LOCK = claim("lock", "book", "1")
DISK = claim("semaphore", "disk", n=2)


def test_empty_then_strict_order_of_queues(doors: Doors) -> None:
    assert doors.start("high", "low") is None
    low, high = doors.enqueue(queue="low"), doors.enqueue(queue="high")
    assert [doors.start("high", "low")[0] for _ in range(2)] == [high, low]  # type: ignore[index]


def test_writes_lease_execution_and_rqs_records(doors: Doors) -> None:
    job = doors.enqueue(LOCK, DISK)
    found = doors.claim()
    token, redis = doors.token, doors.redis
    assert found.fields[b"status"] == b"started" and found.fields[b"qo_token"].decode() == token
    lease = json.loads(redis.hget(K.static("leases"), token))
    assert lease["job"] == job and lease["holds"] == [[LOCK["i"], 1], [DISK["i"], 1]]
    end = redis.zscore(K.static("lease_ends"), token)
    assert redis.zscore(K.of("holders", LOCK["i"]), token) == end
    assert redis.zscore(K.of("rq_wip", "default"), f"{job}:{token}") >= end / 1e6 + 59
    assert redis.hget(K.of("rq_execution", f"{job}:{token}"), "job_id").decode() == job
    assert redis.ttl(K.of("rq_job", job)) == -1
    assert doors.totals() == {"accepted": 1, "started": 1}


def test_the_same_token_gets_the_same_job_again(doors: Doors) -> None:
    doors.enqueue()
    first = doors.claim()
    again = doors.claim(token=doors.token)
    assert again.job_id == first.job_id
    assert doors.totals()["started"] == 1


def test_parks_what_may_not_run_and_goes_on(doors: Doors) -> None:
    first, second, other = doors.enqueue(LOCK), doors.enqueue(LOCK), doors.enqueue()
    assert doors.start() and doors.start()[0] == other  # type: ignore[index]
    assert doors.line(LOCK["i"]) == [second] and doors.queued() == []
    assert doors.field(second, "status") == "scheduled" and doors.field(second, "qo_parked") == LOCK["i"]
    assert doors.redis.zscore(K.of("rq_scheduled", "default"), second) >= doors.redis.time()[0] + 3599
    assert doors.totals() == {"accepted": 3, "started": 2, "parked": 1} and first


def test_all_claims_or_none(doors: Doors) -> None:
    rate = claim("rate", "mail", n=5, per=60)
    doors.enqueue(LOCK)
    doors.enqueue(LOCK, rate, DISK)
    doors.start()
    assert doors.start() is None
    assert doors.redis.zcard(K.of("holders", rate["i"])) == 0
    assert doors.redis.zcard(K.of("holders", DISK["i"])) == 0


def test_weights_and_a_heavy_waiter_that_is_not_passed(doors: Doors) -> None:
    heavy, light = claim("semaphore", "gpu", n=3, w=3), claim("semaphore", "gpu", n=3, w=1)
    running = doors.enqueue(light)
    big, small = doors.enqueue(heavy), doors.enqueue(light)
    started = doors.start()
    assert started and started[0] == running
    assert doors.start() is None
    assert doors.line(heavy["i"]) == [big, small]
    doors.settle(started[1])
    second = doors.start()
    assert second and second[0] == big and doors.start() is None
    doors.settle(second[1])
    assert doors.start()[0] == small  # type: ignore[index]


def test_newcomers_stand_behind_an_older_waiter(doors: Doors) -> None:
    doors.enqueue(LOCK)
    started = doors.start()
    waiter = doors.enqueue(LOCK)
    assert doors.start() is None and started
    newcomer = doors.enqueue(LOCK, at_front=True)
    doors.settle(started[1])
    assert doors.start()[0] == waiter  # type: ignore[index]
    assert doors.start() is None and doors.line(LOCK["i"]) == [newcomer]


@pytest.mark.parametrize("strategy", ["sliding", "window", "bucket"])
def test_rates_admit_their_limit_and_say_when(doors: Doors, forward: Callable[[float], None], strategy: str) -> None:
    rate = claim("rate", "mail", n=3, per=0.4, s=strategy, b=3)
    for _ in range(5):
        doors.enqueue(rate)
    assert sum(bool(doors.start()) for _ in range(5)) == 3
    empty = doors.claim()
    assert isinstance(empty, door.Empty) and empty.wait is not None and empty.wait <= 0.4 and empty.parked == 2
    forward(0.41)
    assert doors.start()
    assert 0 < doors.redis.pttl(K.of("holders" if strategy == "sliding" else "rate", rate["i"])) <= 1500


@pytest.mark.parametrize("planted", [{"start": "99", "used": "500"}, {"used": "500"}, {"start": "9e18", "used": "9"}])
def test_a_planted_window_is_repaired_on_sight(doors: Doors, planted: Any) -> None:
    rate = claim("rate", "mail", n=1, per=60, s="window")
    doors.redis.hset(K.of("rate", rate["i"]), mapping=planted)
    doors.enqueue(rate)
    assert doors.start()
    assert 0 < doors.redis.ttl(K.of("rate", rate["i"])) <= 61


def test_a_lease_that_ends_brings_the_job_back_in_front(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    assert doors.start(span=0.05)
    doors.enqueue(LOCK)
    assert eventually(lambda: doors.start(worker="w2"))[0] == job
    assert doors.totals()["crashed"] == 1
    assert doors.field(job, "qo_crashes") == "1"
    assert doors.redis.zcard(K.of("rq_wip", "default")) == 1


def test_too_many_crashes_quarantine(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    for _ in range(2):
        eventually(lambda: doors.start(span=0.03))
    assert eventually(lambda: doors.start() is None and doors.field(job, "qo_quarantined"))
    assert doors.redis.zcard(K.of("holders", LOCK["i"])) == 0
    assert doors.totals() == {"accepted": 1, "started": 2, "crashed": 2, "quarantined": 1}


def test_an_id_whose_lease_is_live_is_put_back_when_it_ends(doors: Doors) -> None:
    job = doors.enqueue()
    started = doors.start()
    doors.redis.rpush(K.of("rq_queue", "default"), job)
    assert doors.start() is None and started
    doors.settle(started[1], "put_back")
    assert doors.queued() == [job, job]


def test_an_ended_id_left_on_the_list_does_not_run_again(doors: Doors) -> None:
    job = doors.enqueue()
    started = doors.start()
    assert started
    doors.redis.rpush(K.of("rq_queue", "default"), job)
    doors.settle(started[1])
    assert doors.start() is None and doors.queued() == []


def test_a_previous_token_that_was_not_settled_is_a_crash(doors: Doors) -> None:
    doors.enqueue()
    started = doors.start()
    assert started
    again = doors.start(previous=started[1])
    assert again and again[0] == started[0] and doors.totals()["crashed"] == 1


def test_paused_queue_and_paused_function(doors: Doors) -> None:
    pause = json.dumps({"until": 0, "by": "me", "reason": "r", "id": "1", "at": 0})
    job = doors.enqueue(function="app.g")
    doors.redis.hset(K.static("paused"), "q:default", pause)
    assert doors.start() is None and doors.queued() == [job]
    doors.redis.delete(K.static("paused"))
    doors.redis.hset(K.static("paused"), "f:app.g", pause)
    assert doors.start() is None and doors.queued() == []
    assert doors.field(job, "qo_parked") == "P:app.g\x1f"


def test_a_pause_ends_by_the_stores_clock(doors: Doors) -> None:
    seconds, micros = doors.redis.time()
    until = seconds * 1_000_000 + micros + 60_000
    doors.redis.hset(K.static("paused"), "f:app.g", json.dumps({"until": until, "by": "", "reason": "", "id": ""}))
    job = doors.enqueue(function="app.g")
    assert doors.start() is None
    assert eventually(doors.start)[0] == job


@pytest.mark.parametrize(("field", "value"), [("f:app.f", 0), ("e:abc", 0), (f"k:{LOCK['i']}", 0), ("f:app.f", -1)])
def test_isolated_jobs_go_to_quarantine_until_its_end(doors: Doors, field: str, value: int) -> None:
    seconds, _ = doors.redis.time()
    until = 0 if value == 0 else (seconds - 1) * 1_000_000
    doors.redis.hset(K.static("isolated"), field, json.dumps({"until": until, "by": "me", "reason": "r", "id": "1"}))
    job = doors.enqueue(LOCK, mapping={"qo_error": "abc"})
    assert bool(doors.start()) == (value != 0)
    assert bool(doors.field(job, "qo_quarantined")) == (value == 0)


def test_mirror_missing_newer_layout_and_rqs_own_suspension(doors: Doors) -> None:
    doors.enqueue()
    doors.redis.set(K.static("rq_suspended"), 1)
    assert doors.claim() == door.Refused("SUSPENDED")
    doors.redis.delete(K.static("rq_suspended"), K.static("epoch"))
    assert doors.claim() == door.Refused("MIRROR_MISSING")
    doors.redis.set(K.static("schema"), 99)
    with pytest.raises(ScriptError, match="SCHEMA_NEWER"):
        doors.claim()
    assert len(doors.queued()) == 1


def test_a_raised_limit_lets_the_waiting_in(doors: Doors) -> None:
    for _ in range(6):
        doors.enqueue(DISK)
    assert sum(bool(doors.start()) for _ in range(6)) == 2
    doors.redis.hset(K.static("overrides"), DISK["c"], json.dumps({"limit": 5, "until": 0}))
    doors.redis.zadd(K.static("pump"), {DISK["i"]: 0})
    assert sum(bool(doors.start()) for _ in range(6)) == 3


def test_a_lowered_limit_evicts_nobody(doors: Doors) -> None:
    tokens = []
    for _ in range(3):
        doors.enqueue(DISK)
        if started := doors.start():
            tokens.append(started[1])
    doors.redis.hset(K.static("overrides"), DISK["c"], json.dumps({"limit": 1, "until": 0}))
    assert doors.redis.zcard(K.of("holders", DISK["i"])) == 2
    doors.settle(tokens[0])
    assert doors.start() is None
    doors.settle(tokens[1])
    assert doors.start()


def test_max_wait_over_means_quarantine(doors: Doors) -> None:
    patient = claim("lock", "book", "1", mw=0.05)
    doors.enqueue(LOCK)
    doors.start()
    job = doors.enqueue(patient)
    assert eventually(lambda: doors.start() is None and doors.field(job, "qo_quarantined"))
    assert "waited too long" in (doors.field(job, "qo_quarantined") or "")
    assert doors.line(LOCK["i"]) == []


def test_release_after_comes_back_by_time_not_by_waking(doors: Doors) -> None:
    doors.enqueue(LOCK)
    started = doors.start()
    job = doors.enqueue(claim("lock", "book", "1", ra=0.15))
    assert doors.start() is None and doors.line(LOCK["i"]) == [] and started
    doors.settle(started[1])
    before = time.monotonic()
    assert eventually(doors.start)[0] == job
    assert time.monotonic() - before > 0.05


def test_an_offer_that_nobody_takes_passes_on(doors: Doors) -> None:
    doors.enqueue(LOCK)
    started = doors.start()
    doors.enqueue(LOCK, queue="other")
    assert doors.start("other") is None and started
    doors.settle(started[1])
    assert doors.queued("other") and doors.redis.zcard(K.of("offers", LOCK["i"])) == 1
    newcomer = doors.enqueue(LOCK)
    assert doors.start("default") is None
    assert eventually(lambda: doors.start("default"), 4)[0] == newcomer


def test_scheduled_jobs_move_in_once_and_parked_stand_ins_stay(doors: Doors) -> None:
    due = doors.enqueue(mode="schedule", due="+0.05", mapping={"status": "scheduled"})
    assert eventually(doors.start)[0] == due
    assert doors.redis.zcard(K.of("rq_scheduled", "default")) == 0


def test_no_call_looks_at_more_than_its_bound(doors: Doors) -> None:
    for _ in range(450):
        doors.enqueue(LOCK)
    doors.start()
    empty = doors.claim()
    assert isinstance(empty, door.Empty) and empty.more and empty.parked in (200, 199)
    while len(doors.queued()):
        doors.claim()
    assert len(doors.line(LOCK["i"])) == 449


def test_script_flush_is_answered_with_the_source(doors: Doors) -> None:
    doors.enqueue()
    doors.redis.script_flush()
    assert doors.start()


def test_unknown_script_error_is_not_swallowed(doors: Doors) -> None:
    with pytest.raises(ResponseError, match="nil"):
        run(doors.redis, "claim", "w", "t")
