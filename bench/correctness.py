"""Limits under fire: 8 processes, limit 3, holders counted in shared memory. Every run must admit nobody too many."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import redis

from bench import jobs
from bench.lab import FORK, Lab, end
from bench.lines import Line
from bench.room import Room
from bench.workers import QUEUE, Side, drain
from queueops.conf import conf

PROCESSES, LIMIT = 8, 3
ENTERING = Side("semaphore", True, jobs.enter)


def skew(seconds: float) -> None:
    """Set this process's clock ahead, as far as Python reads it."""
    real = time.time
    time.time = lambda: real() + seconds


def everyone(lab: Lab, body: Callable[..., Any], *args: Any) -> None:
    """Run ``body(number, *args)`` in 8 processes at once, and wait for them."""
    with ExitStack() as stack:
        processes = [stack.enter_context(lab.background(body, number, *args)) for number in range(PROCESSES)]
        for process in processes:
            process.join(120)
            if process.exitcode != 0:
                raise RuntimeError(f"{body.__name__} ended with {process.exitcode}")


def through_jobs(lab: Lab, count: int, apart: float = 0.0, copies: int = 1) -> Room:
    """``count`` jobs under the semaphore; each id ``copies`` times on the queue; two workers' clocks ``apart``."""
    room = jobs.room = Room(LIMIT)
    with lab.clean() as connection:
        queue = ENTERING.queue(connection)
        for n in range(count):
            job = queue.enqueue(jobs.enter, n)
            for _ in range(copies - 1):
                connection.rpush(conf.keys.of("rq_queue", QUEUE), job.id)
        started = 0
        while started < count:
            everyone(lab, _worker, lab.url, apart)
            was, started = started, int(connection.hget(conf.keys.of("total", QUEUE), "completed") or 0)
            if started == was:
                raise RuntimeError(f"{count - started} of {count} jobs do not run")
    return room


def _worker(number: int, url: str, apart: float) -> None:
    if apart and number < 2:
        skew(apart)
    drain(url, ENTERING, False)


def through_primitive(lab: Lab, seconds: float, apart: float = 0.0) -> Room:
    """Acquire and release in tight loops."""
    room = Room(LIMIT)
    lab.clean().close()
    everyone(lab, _loop, lab.url, room, seconds, apart)
    return room


def _loop(number: int, url: str, room: Room, seconds: float, apart: float) -> None:
    from queueops.primitives import Semaphore

    if apart and number < 2:
        skew(apart)
    semaphore = Semaphore("bench-fire", LIMIT, connection=redis.Redis.from_url(url))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        lease = semaphore.acquire(os.urandom(8).hex(), 30)
        if lease:
            room.visit(number, random.uniform(0, 0.002))
            lease.release()


def same_token(lab: Lab, rounds: int) -> Room:
    """A token enters twice: the second time renews, so that two others, not three, are let in beside it."""
    from queueops.primitives import Semaphore

    room = Room(LIMIT)
    with lab.clean() as connection:
        semaphore = Semaphore("bench-twice", LIMIT, connection=connection)
        for _ in range(rounds):
            tokens = ["a", "a", "b", "c", "d", "e"]
            leases = [semaphore.acquire(token, 30) for token in tokens]
            held = {lease.token for lease in leases if lease}
            for visitor in range(len(held)):
                room.enter(visitor)
            for visitor in range(len(held)):
                room.leave(visitor)
            for token in held:
                semaphore.release(token)
    return room


def crashed_losers(lab: Lab, rounds: int) -> tuple[Room, float]:
    """Three refused processes are killed; how long (ms) the next one then waits for a free slot, at worst."""
    from queueops.primitives import Semaphore

    room, worst = Room(LIMIT), 0.0
    with lab.clean() as connection:
        semaphore = Semaphore("bench-losers", LIMIT, connection=connection)
        for turn in range(rounds):
            holders = [semaphore.acquire(f"holder-{turn}-{n}", 30) for n in range(LIMIT)]
            assert all(holders)
            for n in range(LIMIT):
                room.enter(n)
            refused = FORK.Semaphore(0)
            losers = [FORK.Process(target=_lose, args=(lab.url, refused), daemon=True) for _ in range(3)]
            for loser in losers:
                loser.start()
            for _ in losers:
                refused.acquire()
            for loser in losers:
                end(loser)
            for n, holder in enumerate(holders):
                room.leave(n)
                assert holder and holder.release()
            start = time.perf_counter()
            with semaphore.hold(30, timeout=60):
                worst = max(worst, (time.perf_counter() - start) * 1000)
                room.visit()
    return room, worst


def _lose(url: str, refused: Any) -> None:
    from queueops.primitives import Semaphore

    semaphore = Semaphore("bench-losers", LIMIT, connection=redis.Redis.from_url(url))
    assert semaphore.acquire(os.urandom(8).hex(), 30) is None
    refused.release()
    signal.pause()


def _line(name: str, room: Room, more: str = "") -> Line:
    figure = f"{room.visits:,} admitted, most {room.most}, over {room.over}{more}"
    return Line(f"limit {LIMIT}: {name}", figure, None, "0 over", room.over == 0 and room.most <= LIMIT)


def lines(lab: Lab) -> Iterator[Line]:
    """Jobs' doors, then the primitive."""
    count, seconds = (150, 1.0) if lab.quick else (1000, 5.0)
    yield _line("8 workers", through_jobs(lab, count))
    yield _line("8 workers, two clocks 12 s ahead", through_jobs(lab, count, apart=12.0))
    yield _line("8 workers, each id twice on the queue", through_jobs(lab, count // 2, copies=2))
    yield _line("primitive, 8 processes", through_primitive(lab, seconds))
    yield _line("primitive, two clocks 12 s ahead", through_primitive(lab, seconds, apart=12.0))
    yield _line("primitive, the same token twice", same_token(lab, 20))
    room, worst = crashed_losers(lab, 2 if lab.quick else 5)
    yield _line("primitive, 3 losers killed", room, f"; next waits {worst:.0f} ms")
