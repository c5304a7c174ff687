from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def force(doors: Doors, instance: str, token: str = "", most: int = 50) -> list[object]:
    return list(run(doors.redis, "force_release", instance, token, "ann", "stuck", most))


def test_takes_the_holder_off_and_lets_the_next_in(doors: Doors) -> None:
    first, second = doors.enqueue(LOCK), doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    assert doors.start() is None
    assert force(doors, LOCK["i"], token) == [0, token.encode(), first.encode(), b"w1"]
    assert (doors.start(worker="w2") or ("",))[0] == second
    assert "control.force_released" in doors.log()


def test_the_first_owner_releases_nothing_later(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    force(doors, LOCK["i"], token)
    _, new = doors.start(worker="w2") or ("", "")
    doors.settle(token)
    assert doors.redis.zscore(K.of("holders", LOCK["i"]), new)
    assert "lock.foreign_release" in doors.log()


def test_a_token_that_holds_nothing_changes_nothing(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    assert force(doors, LOCK["i"], "someone-else") == [1]
    assert "control.force_released" not in doors.log()


def test_all_in_bounded_steps_with_weights(doors: Doors) -> None:
    heavy = claim("semaphore", "disk", n=10, w=2)
    for _ in range(4):
        doors.enqueue(heavy)
        doors.start()
    assert force(doors, heavy["i"], most=3)[0] == 1
    assert force(doors, heavy["i"], most=3)[0] == 0
    assert not doors.redis.exists(K.of("holder_weights", heavy["i"]))
    assert doors.redis.zscore(K.static("instances"), heavy["i"]) is None


def test_a_rate_forgets_its_starts(doors: Doors) -> None:
    for strategy in ("sliding", "window", "bucket"):
        rate = claim("rate", strategy, per=1000, s=strategy)
        doors.enqueue(rate)
        doors.start()
        waiting = doors.enqueue(rate)
        assert doors.start() is None
        assert len(force(doors, rate["i"])) == 4
        assert (doors.start() or ("",))[0] == waiting


def test_a_lease_that_cannot_be_read_does_not_stop_it(doors: Doors) -> None:
    doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    doors.redis.hset(K.static("leases"), token, "broken")
    assert force(doors, LOCK["i"], token) == [0, token.encode(), b"", b""]
