"""SCENARIOS.md, Overlap and semaphores: jobs, with a clock that the test moves. 12-14 are in tests/middleware."""

from __future__ import annotations

import threading
from typing import Any

import redis as redis_py

from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1", l=10)


def test_scenario_18_each_job_has_an_expiry_of_its_own(doors: Doors, clock: Any) -> None:
    short, long = claim("semaphore", "s", n=2, l=2), claim("semaphore", "s", n=2, l=60)
    doors.enqueue(short)
    doors.enqueue(long)
    assert doors.start()
    assert doors.start()
    waiting = [doors.enqueue(long) for _ in range(3)]
    assert doors.start() is None
    clock.advance(3)
    # the job whose lease ended comes back first; its crash took none of the other holders' time
    assert doors.redis.zcard(K.of("holders", long["i"])) == 2
    started = [doors.start(), doors.start()]
    assert bool(started[0])
    assert started[1] is None
    assert waiting


def test_scenario_19_one_finishes_exactly_one_more_is_admitted(doors: Doors, clock: Any) -> None:
    slot = claim("semaphore", "s", n=5)
    for _ in range(12):
        doors.enqueue(slot)
    running = [doors.start() for _ in range(5)]
    assert doors.start() is None
    for _ in range(7):
        first = running.pop(0)
        assert first
        doors.settle(first[1])
        running.append(doors.start())
        assert doors.start() is None


def test_scenario_20_a_worker_declared_dead_that_returns_ends_nothing_twice(doors: Doors, clock: Any) -> None:
    job = doors.enqueue(LOCK)
    others = []
    for _ in range(12):
        clock.advance(0.001)
        others.append(doors.enqueue(LOCK))
    dead = doors.start(worker="dead")
    assert dead
    clock.advance(11)
    second = doors.start(worker="second")
    assert second
    assert second[0] == job
    for _ in range(11):  # the dead one returns, again and again
        assert doors.settle(dead[1]).code == "LOST"
        assert doors.start() is None
    assert doors.redis.zrange(K.of("holders", LOCK["i"]), 0, -1) == [second[1].encode()]
    doors.settle(second[1])
    assert doors.totals()["completed"] == 1
    third = doors.start()
    assert third
    assert third[0] == others[0]
    assert doors.start() is None


def test_scenario_21_releasing_many_never_frees_more_than_there_is(doors: Doors, clock: Any) -> None:
    slot = claim("semaphore", "s", n=3)
    for _ in range(9):
        doors.enqueue(slot)
    tokens = [found[1] for _ in range(3) if (found := doors.start())]
    for _ in range(3):
        for token in tokens:
            doors.settle(token)
    assert [bool(doors.start()) for _ in range(5)] == [True, True, True, False, False]
    assert doors.redis.zcard(K.of("holders", slot["i"])) == 3


def test_scenario_21_an_enqueue_that_races_a_finish_leaves_no_job_blocked(redis: Any, redis_server: Any) -> None:
    """Enqueuers and workers at once: the last job of each key is never forgotten in its line."""
    doors = Doors(redis)
    total, done = 120, []

    def enqueue(part: int) -> None:
        with redis_py.Redis.from_url(redis_server.url) as connection:
            mine = Doors(connection)
            for number in range(part, total, 2):
                mine.enqueue(claim("lock", "k", str(number % 5)), job_id=f"race-{number}")

    def work() -> None:
        with redis_py.Redis.from_url(redis_server.url) as connection:
            mine, empty = Doors(connection), 0
            while empty < 200 and len(done) < total:
                found = mine.start(worker=threading.current_thread().name)
                if found:
                    mine.settle(found[1])
                    done.append(found[0])
                empty = 0 if found else empty + 1

    threads = [threading.Thread(target=enqueue, args=(part,)) for part in (0, 1)]
    threads += [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    while found := doors.start():
        doors.settle(found[1])
        done.append(found[0])
    assert sorted(done) == sorted(f"race-{number}" for number in range(total))


def test_scenario_22_a_waiter_proceeds_once_the_dead_holders_time_is_over_and_not_before(
    doors: Doors, clock: Any
) -> None:
    doors.enqueue(LOCK, mapping={"qo_policy": '{"after": 3, "crashes": 1}'})
    waiting = doors.enqueue(LOCK)
    assert doors.start(worker="dead")
    assert doors.start() is None
    clock.advance(9.999)
    assert doors.start() is None
    clock.advance(0.001)
    found = doors.start()
    assert found
    assert found[0] == waiting


def test_scenario_22_jobs_that_fail_still_run_one_at_a_time(doors: Doors, clock: Any) -> None:
    for _ in range(6):
        doors.enqueue(LOCK)
    for _ in range(6):
        found = doors.start()
        assert found
        assert doors.start() is None
        doors.settle(found[1], "failed")
    assert doors.start() is None
    assert doors.totals()["failed"] == 6
