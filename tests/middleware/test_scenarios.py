"""Declared functions through a queue and a worker: SCENARIOS.md (rate, overlap and semaphore), C12, C13, C15."""

from __future__ import annotations

from typing import Any

import pytest
from rq import Retry

from queueops import Lock, Semaphore
from queueops.conf import conf
from queueops.rdb.keys import JOB_FIELDS, instance
from tests.middleware import shop

MODULE = "tests.middleware.shop"


def starts(redis: Any, name: str, key: str = "") -> int:
    return int(redis.zcard(conf.keys.of("holders", instance("rate", name, key))))


def forget_starts(redis: Any, name: str, key: str = "") -> None:
    """The hour is over."""
    redis.delete(conf.keys.of("holders", instance("rate", name, key)))
    redis.zadd(conf.keys.static("pump"), {instance("rate", name, key): 1})


def test_c12_waiting_for_a_rate_burns_no_attempt(redis: Any, queue: Any, work: Any, totals: Any) -> None:
    jobs = [queue.enqueue(shop.limited, number, retry=Retry(max=3)) for number in range(6)]
    for hour in range(1, 4):
        work()
        assert sorted(shop.SEEN) == list(range(2 * hour))
        waiting = [job for job in jobs if job.get_status() == "scheduled"]
        assert len(waiting) == 6 - 2 * hour
        for job in waiting:
            job.refresh()
            assert job.retries_left == 3
            assert redis.hget(job.key, JOB_FIELDS["attempts"]) in (None, b"0")
        forget_starts(redis, "shop-two-an-hour")
    assert totals()["completed"] == 6
    assert "failed_attempt" not in totals() and "retried" not in totals()


def test_c13_a_tenant_over_its_limit_uses_up_nobody_elses(redis: Any, queue: Any, work: Any) -> None:
    for tenant in ["x"] * 30 + ["y"] * 2:
        queue.enqueue(shop.for_tenant, tenant)
    work()
    assert sorted(shop.SEEN) == ["x", "x", "y", "y"]
    assert starts(redis, "shop-all") == 4
    assert starts(redis, "shop-tenant", "x") == starts(redis, "shop-tenant", "y") == 2


def test_c15_a_tenant_that_waits_does_not_stand_in_the_way(queue: Any, work: Any) -> None:
    full = Semaphore("shop-per-tenant", 1, "one", connection=queue.connection)
    assert full.acquire("elsewhere", 600)
    for tenant in ["one"] * 60 + ["two"]:
        queue.enqueue(shop.in_turn, tenant)
    work()
    assert shop.SEEN == ["two"]
    assert full.release("elsewhere")
    work()
    assert len(shop.SEEN) == 61


def test_scenario_3_release_after_is_exact_and_stored(redis: Any, queue: Any, work: Any) -> None:
    lock = Lock("shop-return", connection=redis)
    assert lock.acquire("elsewhere", 600)
    job = queue.enqueue(shop.returning)
    work()
    seconds, _ = redis.time()
    due = redis.zscore(conf.keys.of("parked", "default"), job.id) / 1e6
    assert 540 < due - seconds <= 601
    assert lock.release("elsewhere")
    work()
    assert shop.SEEN == []
    # its time has come
    redis.zadd(conf.keys.of("parked", "default"), {job.id: 1})
    work()
    assert shop.SEEN == ["returned?"]


def test_scenario_4_dropped_is_skipped_not_failed_nor_completed(redis: Any, queue: Any, work: Any, totals: Any) -> None:
    assert Lock("shop-drop", connection=redis).acquire("elsewhere", 600)
    queue.enqueue(shop.dropping)
    work()
    assert shop.SEEN == []
    assert totals() == {"accepted": 1, "skipped": 1}
    assert redis.zcard(conf.keys.of("rq_failed", "default")) == 0


def test_scenario_12_a_body_that_raises_frees_its_lock_at_once(redis: Any, queue: Any, work: Any) -> None:
    queue.enqueue(shop.raising)
    work()
    assert Lock("shop-boom", connection=redis).acquire("next", 5)


def test_scenario_13_a_job_waits_for_a_lock_held_elsewhere(redis: Any, queue: Any, work: Any) -> None:
    lock = Lock("shop-ledger", "1", connection=redis)
    assert lock.acquire("elsewhere", 600)
    job = queue.enqueue(shop.shared_lock, 1)
    queue.enqueue(shop.shared_lock, 2)
    work()
    assert shop.SEEN == [("shared", 2)]
    # it says by what it waits
    assert redis.hget(job.key, JOB_FIELDS["parked"]).decode() == lock.instance
    assert lock.release("elsewhere")
    work()
    assert shop.SEEN == [("shared", 2), ("shared", 1)]


def test_scenario_14_a_lock_is_the_functions_own_unless_it_is_named(redis: Any, queue: Any, work: Any) -> None:
    assert Lock("shop-ledger", "1", connection=redis).acquire("elsewhere", 600)
    for function in (shop.own_lock, shop.shared_lock, shop.also_shared):
        queue.enqueue(function, 1)
    work()
    assert shop.SEEN == [("own", 1)]
    assert Lock(f"{MODULE}.own_lock", "2", connection=redis).acquire("elsewhere", 600)
    queue.enqueue(f"{MODULE}.own_lock", book=2)
    work()
    assert shop.SEEN == [("own", 1)]


def test_hooks_run_outermost_first_and_hear_the_outcome(queue: Any, work: Any) -> None:
    job = queue.enqueue(shop.noted, False)
    work()
    assert shop.SEEN == ["a in", "b in", "b out", "a out", "a completed", "b completed"]
    assert job.return_value() == "done"
    shop.SEEN.clear()
    queue.enqueue(shop.noted, True)
    work()
    assert shop.SEEN == ["a in", "b in", "b out", "a out", "a failed", "b failed"]


def test_an_error_in_a_key_reaches_the_caller_and_leaves_nothing(redis: Any, queue: Any, work: Any) -> None:
    for call in (lambda: queue.enqueue(shop.crunch_sales, None), lambda: queue.enqueue(shop.crunch_sales)):
        with pytest.raises(ValueError, match=rf"{MODULE}\.crunch_sales"):
            call()
    assert list(redis.scan_iter("rq:job:*")) == []
