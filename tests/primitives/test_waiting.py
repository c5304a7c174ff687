"""Waiting for a primitive: woken by a signal, in order, and never in the way once gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from queueops import Lock, NotAcquired
from queueops.conf import conf
from tests.support import eventually


@pytest.fixture
def lock(redis: Any) -> Lock:
    return Lock("one", connection=redis)


class Waiter(threading.Thread):
    """Waits for the lock, and keeps it until told."""

    def __init__(self, lock: Lock, order: list[str], name: str, timeout: float = 20) -> None:
        super().__init__(name=name, daemon=True)
        self.lock, self.order, self.timeout = lock, order, timeout
        self.entered, self.leave = threading.Event(), threading.Event()
        self.at = 0.0

    def run(self) -> None:
        with self.lock.hold(30, timeout=self.timeout):
            self.at = time.monotonic()
            self.order.append(self.name)
            self.entered.set()
            self.leave.wait(20)


def callers(redis: Any, lock: Lock) -> int:
    return int(redis.zcard(conf.keys.of("callers", lock.instance)))


def start(redis: Any, lock: Lock, order: list[str], *names: str) -> list[Waiter]:
    waiters = []
    for i, name in enumerate(names):
        waiters.append(Waiter(lock, order, name))
        waiters[-1].start()
        eventually(lambda i=i: callers(redis, lock) == i + 1, 20, "the caller stands in line")
    return waiters


def test_a_release_hands_over_in_the_order_of_arrival(redis: Any, lock: Lock) -> None:
    order: list[str] = []
    assert lock.acquire("first", 30)
    waiters = start(redis, lock, order, "a", "b", "c")
    assert lock.acquire("newcomer", 30) is None
    assert lock.release("first")
    for waiter in waiters:
        assert waiter.entered.wait(20)
        assert lock.acquire("newcomer", 30) is None
        waiter.leave.set()
    for waiter in waiters:
        waiter.join(20)
    assert order == ["a", "b", "c"]
    assert callers(redis, lock) == 0


def test_a_waiting_caller_asks_about_once_a_second(
    redis: Any, lock: Lock, trips: Callable[..., dict[str, int]]
) -> None:
    assert lock.acquire("first", 30)

    def wait() -> None:
        with pytest.raises(NotAcquired, match=r"no room within 1\.5 s"), lock.hold(30, timeout=1.5):
            pass

    sent = trips(wait)
    # two looks, a last one at the end, and leaving the line
    assert sent["evalsha"] <= 5 and sent["blpop"] <= 3
    assert callers(redis, lock) == 0
    assert lock.release("first")
    assert lock.acquire("next", 30)


def test_the_end_of_a_lease_lets_the_next_in_where_no_worker_runs(redis: Any, lock: Lock) -> None:
    assert lock.acquire("dead", 0.3)
    with lock.hold(30, timeout=30) as lease:
        assert lease.until


def test_a_caller_that_vanished_does_not_hold_the_line_up(redis: Any, lock: Lock) -> None:
    order: list[str] = []
    assert lock.acquire("first", 30)
    (living,) = start(redis, lock, order, "living")
    instance = lock.instance
    redis.zadd(conf.keys.of("callers", instance), {"ghost": 1})
    redis.zadd(conf.keys.of("callers_seen", instance), {"ghost": 1})
    assert lock.release("first")
    assert living.entered.wait(20)
    living.leave.set()
    living.join(20)
    assert callers(redis, lock) == 0


def test_an_offer_that_nobody_takes_up_is_free_again(redis: Any, lock: Lock) -> None:
    """A caller is killed in the moment in which it is called in: the next waits for the reservation, no longer."""
    assert lock.acquire("first", 30)
    lock._try("killed", 30.0, wait=True, since=0)
    assert lock.release("first")
    assert redis.zscore(conf.keys.of("offers", lock.instance), "killed")
    assert lock.acquire("newcomer", 30) is None
    with lock.hold(30, timeout=30):
        assert redis.zcard(conf.keys.of("offers", lock.instance)) == 0


def test_a_caller_that_gives_up_passes_its_offer_on(redis: Any, lock: Lock) -> None:
    assert lock.acquire("first", 30)
    lock._try("gives up", 30.0, wait=True, since=0)
    assert lock.release("first")
    assert lock.acquire("newcomer", 30) is None
    lock._give_up("gives up")
    assert lock.acquire("newcomer", 30)
