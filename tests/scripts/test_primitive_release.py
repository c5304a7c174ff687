from __future__ import annotations

from queueops import Lock
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def lock(doors: Doors) -> Lock:
    return Lock("book", "1", connection=doors.redis)


def test_a_stranger_cannot_free_a_jobs_lock(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    assert lock(doors).release("stranger") is False
    assert lock(doors).release(token) is False
    assert doors.redis.zscore(K.of("holders", LOCK["i"]), token)
    assert doors.log()[-2:] == ["lock.foreign_release", "lock.foreign_release"]
    assert doors.settle(token).code == "OK"


def test_gives_back_once(doors: Doors) -> None:
    assert lock(doors).acquire("t", 30)
    assert [lock(doors).release("t") for _ in range(2)] == [True, False]
    assert doors.log() == ["lock.acquired", "lock.released", "lock.foreign_release"]
    assert not doors.redis.exists(K.of("holders", LOCK["i"]))
    assert doors.redis.zcard(K.static("instances")) == 0


def test_wakes_one_waiter_for_each_release(doors: Doors) -> None:
    assert lock(doors).acquire("t", 30)
    jobs = [doors.enqueue(LOCK) for _ in range(3)]
    assert doors.start() is None
    assert lock(doors).release("t")
    assert doors.queued() == jobs[:1] and doors.line(LOCK["i"]) == jobs[1:]


def test_who_gives_up_leaves_the_line_and_says_nothing(doors: Doors) -> None:
    assert lock(doors).acquire("t", 30)
    lock(doors)._try("caller", 30.0, wait=True, since=0)
    assert doors.redis.zcard(K.of("callers", LOCK["i"])) == 1
    before = doors.log()
    lock(doors)._give_up("caller")
    assert doors.log() == before
    assert not doors.redis.exists(
        K.of("callers", LOCK["i"]), K.of("callers_seen", LOCK["i"]), K.of("callers_claim", LOCK["i"])
    )
