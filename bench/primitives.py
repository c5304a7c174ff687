"""A primitive's acquire and release against two bare calls of the smallest script that reads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from uuid import uuid4

import redis

from bench.lab import Lab
from bench.lines import Line, at_least, at_most, median_ratio
from bench.trips import counts

_SMALL = "return redis.call('GET', ARGV[1])"


def compare(url: str, count: int, repetitions: int) -> tuple[list[float], list[float], list[float]]:
    """Rates of (acquire + release), of two bare calls and of redis-py's own lock, interleaved, per second."""
    from queueops.primitives import Semaphore

    connection = redis.Redis.from_url(url)
    semaphore = Semaphore("bench-primitive", 3, connection=connection)
    sha = connection.script_load(_SMALL)

    def ours() -> None:
        token = uuid4().hex
        lease = semaphore.acquire(token, 30)
        assert lease and lease.release()

    def bare() -> None:
        connection.evalsha(sha, 0, "nothing")
        connection.evalsha(sha, 0, "nothing")

    def peer() -> None:
        lock = connection.lock("bench-peer", timeout=30)
        assert lock.acquire(blocking=False)
        lock.release()

    rates: tuple[list[float], list[float], list[float]] = ([], [], [])
    ours()
    for _ in range(repetitions):
        for values, call in zip(rates, (ours, bare, peer), strict=True):
            start = time.perf_counter()
            for _ in range(count):
                call()
            values.append(count / (time.perf_counter() - start))
    return rates


def refusal_trips(lab: Lab, count: int = 50) -> float:
    """Round trips of one refused acquire."""
    from queueops.primitives import Lock

    with lab.clean() as connection:
        lock = Lock("bench-refused", connection=connection)
        assert lock.acquire("holder", 60)
        assert lock.acquire("warm", 60) is None
        before = counts(connection).reads
        for n in range(count):
            assert lock.acquire(f"loser-{n}", 60) is None
        # counts() asks twice; the second of the first pair and the first of the second lie between
        return (counts(connection).reads - before - 2) / count


def lines(lab: Lab) -> Iterator[Line]:
    """The ratio on one CPU and across two, and what a refusal costs."""
    count, repetitions = (200, 5) if lab.quick else (1000, 9)
    for place, cpu in lab.places.items():
        lab.clean().close()
        ours, bare, peer = lab.apart(compare, lab.url, count, repetitions, cpu=cpu)
        figure = f"{statistics.median(ours):,.0f}/s (two bare EVALSHA {statistics.median(bare):,.0f}/s)"
        yield at_least(f"a primitive's acquire + release, {place}", figure, median_ratio(ours, bare), 0.9)
        figure = f"{statistics.median(ours):,.0f}/s (redis-py's Lock {statistics.median(peer):,.0f}/s)"
        yield at_least(f"the same against redis-py's Lock, {place}", figure, median_ratio(ours, peer), None)
    trips = refusal_trips(lab)
    yield at_most("a primitive's refusal", f"{trips:.2f} round trips", trips, 1.0, "1")
