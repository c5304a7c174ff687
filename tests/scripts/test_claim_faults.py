"""The claim door meets what it cannot read, waiters that cannot run, and a server that takes no writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")
DISK = claim("semaphore", "disk", n=2)


@pytest.mark.parametrize(
    "planted",
    [
        {"qo_claims": "garbage{"}, {"qo_claims": "5"}, {"qo_claims": "[1,2]"}, {"qo_claims": "[{}]"},
        {"qo_claims": '{"a":1}'}, {"qo_attempts": "abc"}, {"qo_parkings": "1.5"}, {"qo_crashes": "x"},
    ],
)  # fmt: skip
def test_what_cannot_be_read_goes_to_quarantine_and_the_next_job_runs(doors: Doors, planted: Any) -> None:
    bad, good = doors.enqueue(mapping=planted), doors.enqueue()
    started = doors.start()
    assert started and started[0] == good
    assert doors.field(bad, "qo_quarantined")
    assert doors.totals() == {"accepted": 2, "started": 1, "quarantined": 1}


@pytest.mark.parametrize(
    "planted", [{"qo_since": "nan"}, {"qo_since": "-inf"}, {"qo_policy": "x{"}, {"timeout": "1e30"}]
)
def test_what_can_be_put_right_is(doors: Doors, planted: Any) -> None:
    job = doors.enqueue()
    doors.redis.hset(K.of("rq_job", job), mapping=planted)
    started = doors.start(simple=True)
    assert started and started[0] == job and doors.settle(started[1]).code == "OK"


def test_a_key_that_is_no_job_does_not_stop_the_queue(doors: Doors) -> None:
    doors.redis.rpush(K.of("rq_queue", "default"), "odd")
    doors.redis.set(K.of("rq_job", "odd"), "text")
    good = doors.enqueue()
    started = doors.start()
    assert started and started[0] == good


@pytest.mark.parametrize("name", ["controls", "overrides", "paused", "isolated", "leases", "worker_queues"])
def test_records_of_ours_that_cannot_be_read_stop_nobody(doors: Doors, name: str) -> None:
    field = {"controls": DISK["c"], "overrides": DISK["c"], "paused": "q:other", "isolated": "f:other"}.get(name, "w1")
    doors.redis.hset(K.static(name), field, "{nonsense")
    doors.redis.zadd(K.static("lease_ends"), {"w1": 1})
    doors.enqueue(DISK)
    assert doors.start()


def test_a_pause_that_cannot_be_read_is_a_pause(doors: Doors) -> None:
    doors.redis.hset(K.static("paused"), "q:default", "{nonsense")
    doors.enqueue()
    assert doors.start() is None


def test_waiters_that_cannot_run_do_not_starve_those_behind_them(doors: Doors) -> None:
    blocker = doors.enqueue(DISK)
    second = doors.enqueue(DISK)
    held = [doors.start(), doors.start()]
    for _ in range(70):
        doors.enqueue(DISK, queue="low")
    assert doors.start("low") is None
    waiter = doors.enqueue(DISK)
    assert doors.start() is None and blocker and second
    doors.redis.hset(K.static("served"), "low", 1)
    for started in held:
        assert started
        doors.settle(started[1])
    got = [doors.start() for _ in range(5)]
    assert waiter in [g[0] for g in got if g]
    for _ in range(10):
        doors.claim()
    empty = doors.claim()
    assert isinstance(empty, door.Empty) and (empty.wait is None or empty.wait > 0.05)


def test_a_weight_above_the_limit_does_not_block_the_line(doors: Doors) -> None:
    heavy, light = claim("semaphore", "gpu", n=2, w=2), claim("semaphore", "gpu", n=2, w=1)
    doors.enqueue(light)
    started = doors.start()
    for _ in range(40):
        doors.enqueue(heavy)
    small = doors.enqueue(light)
    assert doors.start() is None and started
    doors.redis.hset(K.static("overrides"), heavy["c"], json.dumps({"limit": 1, "until": 0}))
    doors.settle(started[1])
    assert small in [g[0] for g in [doors.start() for _ in range(4)] if g]


def test_drop_counts_in_the_line_too(doors: Doors) -> None:
    first, full = doors.enqueue(LOCK), claim("semaphore", "one", n=1)
    doors.enqueue(full)
    started = [doors.start(), doors.start()]
    job = doors.enqueue(LOCK, {**full, "o": "drop"})
    assert doors.start() is None and first and started[0]
    doors.settle(started[0][1])
    assert doors.field(job, "status") == "canceled" and doors.totals()["skipped"] == 1
    assert doors.redis.zcard(K.of("parked", "default")) == 0


def test_a_quarantined_job_that_rq_requeues_leaves_quarantine(doors: Doors) -> None:
    job = doors.enqueue()
    started = doors.start()
    assert started
    doors.settle(started[1], "failed", quarantine=1, kind="failed", reason="why")
    doors.redis.hset(K.of("rq_job", job), "status", "queued")
    doors.redis.rpush(K.of("rq_queue", "default"), job)
    assert doors.start()
    assert doors.redis.zcard(K.of("quarantined", "default")) == 0 and doors.field(job, "qo_quarantined") is None


def test_an_id_that_plain_rq_enqueues_anew_while_it_runs_runs_again(doors: Doors) -> None:
    job = doors.enqueue()
    started = doors.start()
    doors.redis.hset(K.of("rq_job", job), mapping={"data": b"new", "status": "queued"})
    doors.redis.rpush(K.of("rq_queue", "default"), job)
    assert doors.start() is None and started
    doors.settle(started[1])
    again = doors.start()
    assert again and again[0] == job and doors.field(job, "data") == "new"


def test_a_server_that_takes_no_writes_loses_nothing(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    doors.redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(Exception, match=r"(?i)oom|memory"):
            doors.start()
    finally:
        doors.redis.config_set("maxmemory", 0)
    started = doors.start()
    assert started and started[0] == job
    doors.redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(Exception, match=r"(?i)oom|memory"):
            doors.settle(started[1])
    finally:
        doors.redis.config_set("maxmemory", 0)
    assert doors.field(job, "status") == "started" and doors.settle(started[1]).code == "OK"
    assert doors.field(job, "status") == "finished"
