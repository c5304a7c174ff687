"""Enqueue of a unique job beside RQ's ways to avoid duplicates, at growing queue lengths: ours does not grow."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import redis
import rq

from bench import jobs
from bench.lab import Lab
from bench.lines import Line, at_least, at_most
from bench.scale import build
from bench.workers import QUEUE, THREE

LENGTHS = (10, 10_000, 1_000_000)
QUICK = (10, 1_000, 20_000)
GROWTH = 1.3
"""What the longest queue may cost of the shortest: the noise of two runs."""


def rates(url: str, count: int, repetitions: int) -> dict[str, float]:
    """Median enqueues per second of each way, interleaved."""
    connection = redis.Redis.from_url(url)
    ours, plain = THREE.queue(connection), rq.Queue(QUEUE, connection=connection)
    number = iter(range(10**9))

    def scan(n: int) -> None:
        # what people write: look through the queue for the same job
        wanted = f"bench-unique-{n}"
        if wanted not in plain.get_job_ids():
            plain.enqueue(jobs.nothing, n, job_id=wanted)

    ways: dict[str, tuple[Callable[[int], Any], int]] = {
        "unique": (lambda n: ours.enqueue(jobs.only, n, at_front=True), count),
        "plain": (lambda n: plain.enqueue(jobs.nothing, n, at_front=True), count),
        "rq": (lambda n: plain.enqueue(jobs.nothing, n, job_id=f"bench-rq-{n}", unique=True), count),
        "scan": (scan, 3),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for call, _ in ways.values():
        call(next(number))
    for _ in range(repetitions):
        for name, (call, times) in ways.items():
            start = time.perf_counter()
            for _ in range(times):
                call(next(number))
            found[name].append(times / (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in found.items()}


def lines(lab: Lab) -> Iterator[Line]:
    """A line for each length, and whether ours grew."""
    count, repetitions = (50, 3) if lab.quick else (300, 5)
    shares: list[float] = []
    for length in QUICK if lab.quick else LENGTHS:
        with lab.clean() as connection:
            build(connection, length, 0)
        found = lab.apart(rates, lab.url, count, repetitions, cpu=lab.same)
        shares.append(found["unique"] / found["plain"])
        others = f"RQ {found['plain']:,.0f}, its unique {found['rq']:,.0f}, scan {found['scan']:,.1f}"
        figure = f"{found['unique']:,.0f}/s ({others})"
        yield at_least(f"unique enqueue, {length:,} queued", figure, found["unique"] / found["plain"], None)
    # beside plain RQ, which does not grow either: the machine may have slowed down between the two
    grown = shares[0] / shares[-1]
    figure = f"{grown:.2f}x as long"
    yield at_most("unique enqueue, longest against shortest queue", figure, grown, GROWTH, f"<= {GROWTH}x")
