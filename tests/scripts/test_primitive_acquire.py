from __future__ import annotations

from typing import Any

from queueops import Lock, Semaphore
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")
PAIR = claim("semaphore", "pair", n=2)


def lock(doors: Doors) -> Lock:
    return Lock("book", "1", connection=doors.redis)


def wait(primitive: Any, token: str) -> bool:
    """One look of a caller that stands in line."""
    lease, _, _ = primitive._try(token, 30.0, wait=True, since=0)
    return lease is not None


def test_jobs_and_primitives_share_one_lock(doors: Doors) -> None:
    assert lock(doors).acquire("t", 30)
    job = doors.enqueue(LOCK)
    assert doors.start() is None and doors.line(LOCK["i"]) == [job]
    assert lock(doors).release("t")
    assert doors.queued() == [job]
    assert lock(doors).acquire("t", 30) is None
    assert doors.start()
    assert lock(doors).acquire("t", 30) is None


def test_weights_of_jobs_count(doors: Doors) -> None:
    pair = Semaphore("pair", 2, connection=doors.redis)
    doors.enqueue({**PAIR, "w": 2})
    started = doors.start()
    assert started and pair.acquire("t", 30) is None
    doors.settle(started[1])
    assert pair.acquire("t", 30) and pair.acquire("u", 30)


def test_an_older_job_is_not_passed(doors: Doors) -> None:
    pair = Semaphore("pair", 2, connection=doors.redis)
    assert pair.acquire("t", 30)
    heavy = doors.enqueue({**PAIR, "w": 2})
    assert doors.start() is None
    assert pair.acquire("u", 30) is None
    assert pair.release("t")
    assert doors.queued() == [heavy]


def test_an_older_caller_goes_before_a_waiting_job(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    assert not wait(lock(doors), "caller")
    job = doors.enqueue(LOCK)
    assert doors.start() is None
    doors.settle(token)
    assert doors.redis.lrange(K.of("bell", "caller"), 0, -1) == [b"1"]
    assert doors.queued() == [] and doors.line(LOCK["i"]) == [job]
    assert doors.start() is None
    assert wait(lock(doors), "caller")
    assert lock(doors).release("caller")
    assert doors.queued() == [job]


def test_a_job_that_waits_longer_goes_before_a_caller(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    job = doors.enqueue(LOCK)
    assert doors.start() is None
    assert not wait(lock(doors), "caller")
    doors.settle(token)
    assert doors.queued() == [job]
    assert not wait(lock(doors), "caller")
    _, token = doors.start() or ("", "")
    doors.settle(token)
    assert doors.redis.exists(K.of("bell", "caller"))


def test_a_claim_that_finds_an_older_caller_does_not_take_its_room(doors: Doors) -> None:
    """Room came by time alone: the caller is called in by the claim itself, and the job waits."""
    assert lock(doors).acquire("dead", 30)
    assert not wait(lock(doors), "caller")
    doors.redis.zadd(K.of("holders", LOCK["i"]), {"dead": 1})
    job = doors.enqueue(LOCK)
    assert doors.start() is None
    assert doors.line(LOCK["i"]) == [job]
    assert wait(lock(doors), "caller")


def test_a_dead_primitives_end_is_seen_by_the_workers(doors: Doors) -> None:
    assert lock(doors).acquire("dead", 30)
    doors.enqueue(LOCK)
    assert doors.start() is None
    pumped = doors.redis.zscore(K.static("pump"), LOCK["i"])
    assert pumped and pumped == doors.redis.zscore(K.of("holders", LOCK["i"]), "dead")
    # renewed: looked at in vain at the old end, and again at the new one
    assert lock(doors).acquire("dead", 60)
    doors.redis.zadd(K.static("pump"), {LOCK["i"]: 1})
    assert doors.start() is None
    assert doors.redis.zscore(K.static("pump"), LOCK["i"]) == doors.redis.zscore(K.of("holders", LOCK["i"]), "dead")
    doors.redis.zadd(K.of("holders", LOCK["i"]), {"dead": 1})
    doors.redis.zadd(K.static("pump"), {LOCK["i"]: 1})
    assert doors.start()
