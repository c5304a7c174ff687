"""The doors at 1,000,000 queued jobs, 50,000 held locks and 5,000 parked jobs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import redis

from bench import jobs
from bench.lab import Lab
from bench.lines import Line, below, percentile
from bench.parked import LOCKED, park, wait_parked
from bench.workers import QUEUE, THREE, serve
from queueops.conf import conf
from queueops.rdb import scripts
from queueops.rdb.keys import JOB_FIELDS, SEP

SLOW = 50.0
"""Milliseconds that no script call may take."""

_COPY = """
local template = redis.call('HGETALL', ARGV[1])
local now = redis.call('TIME')[1] * 1000000
for n = tonumber(ARGV[5]), tonumber(ARGV[6]) do
  local id = 'bench-' .. n
  redis.call('HSET', ARGV[2] .. id, unpack(template))
  redis.call('RPUSH', ARGV[3], id)
  redis.call('ZADD', ARGV[4], string.format('%.0f', now + n), id)
end
"""

_HOLD = """
for n = tonumber(ARGV[3]), tonumber(ARGV[4]) do
  local instance = 'L:bench-many' .. ARGV[5] .. n
  redis.call('ZADD', ARGV[1] .. instance, ARGV[6], 'holder-' .. n)
  redis.call('ZADD', ARGV[2], ARGV[6], instance)
end
"""


class Timed(redis.Redis):
    """A client that keeps how long each call of a script took, in ms, by the script's name."""

    taken: dict[str, list[float]]
    names: dict[str, str]

    def evalsha(self, sha: str, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return super().evalsha(sha, *args, **kwargs)
        finally:
            self.taken[self.names.get(sha, "other")].append((time.perf_counter() - start) * 1000)


def timed(url: str) -> Timed:
    """A :class:`Timed` client of its own."""
    connection = cast(Timed, Timed.from_url(url))
    connection.taken = defaultdict(list)
    connection.names = {scripts.script(name).sha: name for name in ("enqueue", "claim", "settle")}
    return connection


def build(connection: redis.Redis, queued: int, locks: int) -> None:
    """``queued`` jobs with three claims, copies of one, and ``locks`` held locks."""
    keys = conf.keys
    job = THREE.queue(connection).enqueue(jobs.under_three, 0)
    connection.hset(keys.of("rq_job", job.id), JOB_FIELDS["claims"], "[]")
    places = (keys.of("rq_job", job.id), keys.of("rq_job", ""), keys.of("rq_queue", QUEUE), keys.of("waiting", QUEUE))
    step = 2000
    for first in range(0, queued, step):
        connection.eval(_COPY, 0, *places, first, min(first + step, queued) - 1)
    ends = int((time.time() + 3600) * 1e6)
    for first in range(0, locks, step):
        last = min(first + step, locks) - 1
        connection.eval(_HOLD, 0, keys.of("holders", ""), keys.static("instances"), first, last, SEP, ends)


def work(url: str, count: int) -> dict[str, list[float]]:
    """Run ``count`` jobs in this process; the times of the scripts in ms."""
    connection = timed(url)
    worker = THREE.worker_class(forking=False)([THREE.queue(connection)], connection=connection)
    worker.work(burst=True, max_jobs=count, logging_level="ERROR")
    return dict(connection.taken)


def put(url: str, count: int) -> dict[str, list[float]]:
    """Enqueue ``count`` jobs under three controls."""
    connection = timed(url)
    queue = THREE.queue(connection)
    for n in range(count):
        queue.enqueue(jobs.under_three, n, at_front=True)
    return dict(connection.taken)


@dataclass(frozen=True)
class Phase:
    """What one kind of work took: by script as the client saw it, and all scripts by the server's clock, in ms."""

    taken: dict[str, list[float]]
    p99: float | None
    longest: float | None


def phase(connection: redis.Redis, lab: Lab, function: Callable[..., dict[str, list[float]]], count: int) -> Phase:
    """Do ``function`` on the other CPU, and ask the server (7.0 or newer) what its scripts took meanwhile."""
    connection.config_resetstat()
    taken = lab.apart(function, lab.url, count, cpu=lab.cross)
    found = connection.info("latencystats").get("latency_percentiles_usec_evalsha", {})
    p99, longest = (found[name] / 1000 if name in found else None for name in ("p99", "p100"))
    return Phase(taken, p99, longest)


def lines(lab: Lab) -> Iterator[Line]:
    """Enqueue, claim and settle while all that stands there; then the same with a wake in each settle."""
    queued, locks, parked, count = (50_000, 5_000, 500, 300) if lab.quick else (1_000_000, 50_000, 5_000, 3_000)
    with lab.clean() as connection:
        park(connection, parked)
        with lab.background(serve, lab.url, LOCKED, False):
            wait_parked(connection, parked)
        build(connection, queued, locks)
        _show_percentiles(connection)
        putting = phase(connection, lab, put, count)
        running = phase(connection, lab, work, count)
        from queueops.primitives import Lock

        Lock("bench-one", connection=connection).release("somebody-else")
        jobs.open_pipe()
        waking = phase(connection, lab, work, min(parked, count) // 2)
    where = f"{queued:,} queued, {locks:,} locks"
    for name, script, one in (
        ("enqueue", "enqueue", putting),
        ("claim", "claim", running),
        ("settle", "settle", running),
        (f"settle, wakes 1 of {parked:,}", "settle", waking),
        ("claim of a woken job", "claim", waking),
    ):
        values = one.taken[script]
        p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
        figure = f"p50 {p50:.2f} p99 {p99:.2f} max {max(values):.1f} ms with the client's part"
        yield Line(f"{name}: {where}", figure)
    for name, one in (("enqueue", putting), ("claim and settle", running), ("the same, each waking one", waking)):
        if one.p99 is None or one.longest is None:
            continue
        figure = f"p99 {one.p99:.2f} max {one.longest:.2f} ms on the server"
        yield below(f"{name}: {where}", figure, one.p99, 2.0, "p99 < 2 ms")
    longest = max((one.longest for one in (putting, running, waking) if one.longest is not None), default=None)
    if longest is not None:
        yield below(f"longest call of a script: {where}", f"{longest:.2f} ms on the server", longest, SLOW, "< 50 ms")
    jobs.close_pipe()


def _show_percentiles(connection: redis.Redis) -> None:
    try:
        connection.config_set("latency-tracking-info-percentiles", "50 99 100")
    except redis.ResponseError:  # a server before 7.0 keeps no percentiles
        return
