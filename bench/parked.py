"""What 5,000 parked jobs cost while nothing can run."""

from __future__ import annotations

import time
from collections.abc import Iterator

import redis

from bench import jobs
from bench.lab import Lab
from bench.latency import wait_idle
from bench.lines import Line, below
from bench.workers import QUEUE, Side, serve
from queueops.conf import conf

LOCKED = Side("parked", True, jobs.one_at_a_time)
BUDGET = 5.0


def park(connection: redis.Redis, count: int) -> None:
    """Queue ``count`` jobs under a lock that somebody else holds."""
    from queueops.primitives import Lock

    assert Lock("bench-one", connection=connection).acquire("somebody-else", 600)
    LOCKED.fill(connection, count)


def wait_parked(connection: redis.Redis, count: int, seconds: float = 60.0) -> None:
    """Until that many jobs are parked."""
    give_up = time.monotonic() + seconds
    while connection.zcard(conf.keys.of("parked", QUEUE)) < count:
        if time.monotonic() > give_up:
            raise RuntimeError("the jobs are not parked")
        time.sleep(0.01)


def idle_cost(lab: Lab, count: int, seconds: float) -> tuple[float, int]:
    """``(round trips a second and worker, jobs started)`` of an in-process and a forking worker, with all parked."""
    with lab.clean() as connection:
        park(connection, count)
        with (
            lab.background(serve, lab.url, LOCKED, False, cpu=lab.cross),
            lab.background(serve, lab.url, LOCKED, True, cpu=lab.cross),
        ):
            wait_parked(connection, count)
            wait_idle(connection, 2)
            before = connection.info("stats")["total_reads_processed"]
            time.sleep(seconds)
            reads = connection.info("stats")["total_reads_processed"] - before - 1
            # each start of a forking worker is a fork
            started = int(connection.hget(conf.keys.of("total", QUEUE), "started") or 0)
            return reads / seconds / 2, started


def lines(lab: Lab) -> Iterator[Line]:
    """The idle cost."""
    count = 500 if lab.quick else 5000
    calls, forks = idle_cost(lab, count, 4.0 if lab.quick else 10.0)
    figure = f"{calls:.1f} calls/s a worker, {forks} forks"
    yield below(f"{count:,} parked, nothing runnable", figure, calls if not forks else BUDGET, BUDGET, "< 5/s, 0")
