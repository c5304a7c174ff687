from __future__ import annotations

from typing import Any

from tests.scripts.kit import Doors, K


def test_saves_pushes_counts_and_indexes_in_one_step(doors: Doors) -> None:
    job = doors.enqueue()
    assert doors.queued() == [job]
    assert doors.redis.sismember(K.static("rq_queues"), K.of("rq_queue", "default"))
    assert doors.redis.zscore(K.of("waiting", "default"), job) == float(doors.field(job, "qo_since") or 0)
    assert doors.totals() == {"accepted": 1}


def test_at_front(doors: Doors) -> None:
    first, second = doors.enqueue(), doors.enqueue(at_front=True)
    assert doors.queued() == [second, first]


def test_an_open_id_is_a_duplicate_and_keeps_its_data(doors: Doors) -> None:
    doors.enqueue(job_id="same", mapping={"data": b"a"})
    doors.enqueue(job_id="same", mapping={"data": b"b"})
    assert doors.answer is not None and (doors.answer.code, doors.answer.detail) == ("DUPLICATE", "queued")
    assert doors.queued() == ["same"] and doors.field("same", "data") == "a"
    assert doors.totals() == {"accepted": 1, "duplicate": 1}


def test_unique_refuses_any_id_that_exists(doors: Doors) -> None:
    doors.redis.hset(K.of("rq_job", "old"), mapping={"status": "finished", "data": b"x"})
    doors.enqueue(job_id="old", unique=True)
    assert doors.answer is not None and doors.answer.code == "EXISTS"
    assert doors.totals() == {}


def test_an_ended_id_starts_afresh(doors: Doors) -> None:
    doors.enqueue(job_id="again")
    started = doors.start()
    assert started
    doors.settle(started[1], "failed", quarantine=1, kind="failed", reason="why")
    assert doors.redis.zcard(K.of("quarantined", "default")) == 1
    doors.enqueue(job_id="again")
    assert doors.field("again", "qo_attempts") is None and doors.field("again", "qo_quarantined") is None
    assert doors.redis.zcard(K.of("quarantined", "default")) == 0
    assert doors.redis.zcard(K.of("rq_failed", "default")) == 0


def test_scheduling_by_delay_uses_the_stores_clock(doors: Doors) -> None:
    job = doors.enqueue(mode="schedule", due="+60", mapping={"status": "scheduled"})
    seconds, micros = doors.redis.time()
    due = doors.redis.zscore(K.of("rq_scheduled", "default"), job)
    assert 58 < due - (seconds + micros / 1e6) <= 60
    assert doors.queued() == [] and doors.redis.zcard(K.of("waiting", "default")) == 0


def test_large_hashes_and_strange_text(doors: Doors) -> None:
    names: dict[str, Any] = {f"field {n}": n for n in range(2000)}
    job = doors.enqueue(queue="two\nlines/キュー", mapping={**names, "data": b"\0\xff" * 100_000})
    assert doors.queued("two\nlines/キュー") == [job]
    assert doors.redis.hlen(K.of("rq_job", job)) >= 2004
