"""FIELD_CASES.md C07, C13, C15, C16, C19, C25: who waits for what, with a clock that the test moves."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import redis as redis_py

from queueops.rdb.doors import Empty
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim


def limit(doors: Doors, control: dict[str, Any], number: int) -> int:
    record = json.dumps({"limit": number, "until": 0, "by": "ann", "id": str(number)})
    return int(run(doors.redis, "limit", "set", control["c"], record, "ann", "test", control["i"])[1])


def start_all(doors: Doors, most: int = 50) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while len(found) < most and (one := doors.start()):
        found.append(one)
    return found


def test_c07_no_live_lock_is_freed_by_what_cleans_up(redis: Any, redis_server: Any) -> None:
    """Cleaners at full speed beside the work: nobody's lock is taken, and each call's work is bounded."""
    doors, total = Doors(redis), 150
    for number in range(total):
        doors.enqueue(claim("lock", "k", str(number % 3)), job_id=f"job-{number}")
    done: list[str] = []
    overlaps: list[str] = []
    busy: dict[str, int] = {}
    guard = threading.Lock()

    def work(name: str) -> None:
        with redis_py.Redis.from_url(redis_server.url) as connection:
            mine = Doors(connection)
            while len(done) < total:
                found = mine.start(worker=name)
                if not found:
                    continue
                key = str(int(found[0].removeprefix("job-")) % 3)
                with guard:
                    busy[key] = busy.get(key, 0) + 1
                    if busy[key] > 1:
                        overlaps.append(key)
                time.sleep(0.001)
                with guard:
                    busy[key] -= 1
                mine.settle(found[1])
                done.append(found[0])

    def clean() -> None:
        with redis_py.Redis.from_url(redis_server.url) as connection:
            while len(done) < total:
                run(connection, "tick", '["default"]', "2030-01-01T00:00:00.000000Z")
                run(connection, "trim", 0, 100, 1, 10**15, 1000, 100)

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(3)] + [threading.Thread(target=clean)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == sorted(f"job-{number}" for number in range(total))
    assert not overlaps


def test_c07_a_thousand_ended_leases_are_worked_off_in_bounded_calls(doors: Doors, clock: Any) -> None:
    for _ in range(300):
        doors.enqueue(mapping={"qo_policy": '{"after": 9, "crashes": 9}'})
    assert len(start_all(doors, 300)) == 300
    clock.advance(31)
    calls = []
    while (ended := run(doors.redis, "tick", '["default"]', "2030-01-01T00:00:00.000000Z")[0]) > 0:
        calls.append(ended)
    assert sum(calls) == 300
    assert max(calls) <= 50
    assert doors.totals()["crashed"] == 300


def test_c13_a_job_that_an_inner_control_refuses_charges_no_rate(doors: Doors, clock: Any) -> None:
    everybody, tenant = claim("rate", "all", n=100, per=60), claim("rate", "tenant", "x", n=5, per=60)
    lock = claim("lock", "one", "x")
    for _ in range(200):
        doors.enqueue(everybody, tenant, lock)
    for _ in range(10):
        doors.enqueue(everybody, claim("rate", "tenant", "y", n=50, per=60))
    started = start_all(doors)
    assert len(started) == 11, "one of X, who has the lock, and all ten of Y"
    assert doors.redis.zcard(K.of("holders", everybody["i"])) == 11
    assert doors.redis.zcard(K.of("holders", tenant["i"])) == 1


def test_c15_a_tenant_with_two_thousand_waiting_jobs_stands_in_nobodys_way(doors: Doors, clock: Any) -> None:
    big = claim("semaphore", "tenant", "1")
    for _ in range(2000):
        doors.enqueue(big)
    assert doors.start()
    small = doors.enqueue(claim("semaphore", "tenant", "2"))
    # each call parks 200
    tries = [doors.start() for _ in range(11)]
    assert [found[0] for found in tries if found] == [small]
    # the original wait is kept, and is what an operator sees
    assert doors.redis.zcard(K.of("waiting", "default")) == 1999
    assert doors.redis.zcard(K.of("parked", "default")) == 1999


def test_c16_a_lowered_limit_evicts_nobody_and_a_raised_one_lets_in_at_once(doors: Doors, clock: Any) -> None:
    slot = claim("semaphore", "s", n=2)
    for _ in range(40):
        clock.advance(0.001)
        doors.enqueue(slot)
    running = start_all(doors)
    assert len(running) == 2
    assert limit(doors, slot, 1) == 0
    assert doors.redis.zcard(K.of("holders", slot["i"])) == 2
    doors.settle(running.pop()[1])
    assert start_all(doors) == []
    doors.settle(running.pop()[1])
    assert len(start_all(doors)) == 1
    assert limit(doors, slot, 10) == 9
    assert len(doors.queued()) == 9
    assert len(start_all(doors)) == 9
    assert limit(doors, slot, 0) == 0
    assert start_all(doors) == []


def test_c16_a_changed_rate_rules_the_jobs_that_wait(doors: Doors, clock: Any) -> None:
    """One in ten minutes becomes one in two: nobody keeps an old due time."""
    rate = claim("rate", "r", n=1, per=600)
    definition = {"kind": "rate", "name": "r", "limit": 1, "per": 600_000_000, "strategy": "sliding", "burst": 0}
    run(doors.redis, "publish", "1", rate["c"], json.dumps(definition))
    for _ in range(2):
        doors.enqueue(rate)
    [first] = start_all(doors)
    doors.settle(first[1])
    clock.advance(20)
    run(doors.redis, "publish", "2", rate["c"], json.dumps({**definition, "per": 120_000_000}))
    run(doors.redis, "limit", "wake", rate["c"], "", "", "", rate["i"])
    clock.advance(99)
    assert doors.start() is None
    clock.advance(1.001)
    assert [doors.start() is not None for _ in range(2)].count(True) == 1


def test_c16_the_same_job_twice_holds_by_its_run_not_by_its_id(doors: Doors, clock: Any) -> None:
    slot = claim("semaphore", "s", n=2, l=5)
    job = doors.enqueue(slot)
    first = doors.start(worker="one")
    assert first
    clock.advance(6)  # its lease ends; the same job runs again
    second = doors.start(worker="two")
    assert second
    assert second[0] == job
    assert doors.settle(first[1]).code == "LOST"
    assert doors.redis.zrange(K.of("holders", slot["i"]), 0, -1) == [second[1].encode()]


def test_c19_a_job_whose_time_has_not_come_holds_nothing(doors: Doors, clock: Any) -> None:
    lock = claim("lock", "k")
    key_of = lambda job: K.of("rq_job", job)  # noqa: E731
    first = doors.enqueue(lock)
    found = doors.start()
    assert found
    due = clock.now // 1_000_000 + 7200
    again = [("HSET", key_of(first), "status", "scheduled"), ("ZADD", K.of("rq_scheduled", "default"), due, first)]
    doors.settle(found[1], "retried", commands=again)
    second = doors.enqueue(lock)
    found = doors.start()
    assert found
    assert found[0] == second


def test_c19_the_oldest_waiter_is_not_overtaken_by_new_arrivals(doors: Doors, clock: Any) -> None:
    lock = claim("lock", "k", l=60)
    order = [doors.enqueue(lock)]
    running = doors.start(span=60)
    started = [running[0]] if running else []
    for _ in range(30):
        clock.advance(0.5)
        order.append(doors.enqueue(lock))
        clock.advance(0.4)
        assert running
        doors.settle(running[1])
        running = doors.start(span=60)
        started.append(running[0] if running else "")
    assert started == order


def test_c19_the_line_moves_when_its_head_is_deleted(doors: Doors, clock: Any) -> None:
    """A heavy head blocks the lighter ones behind it; deleted, it blocks nobody."""
    from queueops.rdb import doors as door

    def slot(weight: int) -> dict[str, Any]:
        return claim("semaphore", "s", n=2, w=weight, l=60)

    doors.enqueue(slot(1))
    assert doors.start(span=60)
    clock.advance(0.001)
    heavy = doors.enqueue(slot(2))
    clock.advance(0.001)
    light = doors.enqueue(slot(1))
    assert doors.start(span=60) is None
    door.forget(doors.redis, heavy, "default", "discarded")
    found = doors.start(span=60)
    assert found
    assert found[0] == light


def test_c19_an_offer_to_a_job_that_is_paused_meanwhile_passes_on(doors: Doors, clock: Any) -> None:
    lock = claim("lock", "k", l=60)
    doors.enqueue(lock, queue="low")
    assert doors.start("low", "default", span=60)
    token = doors.token
    clock.advance(0.001)
    first = doors.enqueue(lock, queue="low")
    clock.advance(0.001)
    doors.enqueue(lock, queue="low")
    clock.advance(0.001)
    other = doors.enqueue(lock, queue="default")
    assert doors.start("low", "default", span=60) is None
    doors.settle(token)
    assert doors.queued("low") == [first]
    run(doors.redis, "pause", "q:low", '{"until": 0, "id": "1"}', "ann", "x")
    found = None
    for _ in range(4):
        clock.advance(2.1)
        found = found or doors.start("low", "default", span=60)
    assert found
    assert found[0] == other


def test_c25_an_id_twice_on_a_list_runs_once(doors: Doors, clock: Any) -> None:
    job = doors.enqueue()
    for _ in range(3):
        doors.redis.rpush(K.of("rq_queue", "default"), job)
    found = doors.start(worker="one")
    assert found
    assert isinstance(doors.claim(worker="two", idle=False), Empty)
    doors.settle(found[1])
    assert doors.start() is None
    assert doors.totals()["started"] == 1
    assert doors.queued() == []


def test_c25_an_open_id_again_is_a_duplicate_that_changes_nothing(doors: Doors, clock: Any) -> None:
    job = doors.enqueue(job_id="same", mapping={"data": b"a"})
    doors.enqueue(job_id="same", mapping={"data": b"b"})
    doors.enqueue(job_id="same", mapping={"data": b"c"}, queue="low")
    assert doors.answer
    assert doors.answer.code == "DUPLICATE"
    assert doors.queued() == [job]
    assert doors.queued("low") == []
    assert doors.field(job, "data") == "a"
    assert doors.totals()["duplicate"] == 1
    assert doors.totals("low")["duplicate"] == 1
