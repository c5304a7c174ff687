"""How soon an idle worker has a job, and a waiter its lock."""

from __future__ import annotations

import itertools
import os
import random
import select
import time
from collections.abc import Iterator
from contextlib import ExitStack

import redis

from bench import jobs
from bench.lab import Lab
from bench.lines import Line, below, percentile
from bench.workers import PLAIN, Side, serve

STAMPED = Side("stamp", True, jobs.stamp)
PLAIN_STAMPED = Side("plain stamp", False, jobs.stamp)
LOCKED = Side("one lock", True, jobs.one_at_a_time)


def read_stamp(descriptor: int, seconds: float = 30.0) -> tuple[int, int]:
    """The next stamp of a job: start and end in ns."""
    if not select.select([descriptor], [], [], seconds)[0]:
        raise RuntimeError(f"no job has run within {seconds:g} s")
    start, end = jobs.STAMP.unpack(os.read(descriptor, jobs.STAMP.size))
    return start, end


def wait_idle(connection: redis.Redis, workers: int = 1, seconds: float = 30.0) -> None:
    """Until that many workers block on the server. RuntimeError if they do not."""
    give_up = time.monotonic() + seconds
    while connection.info("clients")["blocked_clients"] < workers:
        if time.monotonic() > give_up:
            raise RuntimeError("the worker does not become idle")
        time.sleep(0.002)


def pick_up(lab: Lab, producer: Side, consumer: Side, forking: bool, samples: int) -> list[float]:
    """Milliseconds from ``enqueue`` being called to the job's first line, one job at a time, at random phases."""
    descriptor = jobs.open_pipe()
    taken = []
    with lab.clean() as connection, lab.background(serve, lab.url, consumer, forking, cpu=lab.cross):
        queue = producer.queue(connection)
        queue.enqueue(jobs.stamp, 0)
        read_stamp(descriptor)
        for n in range(samples):
            wait_idle(connection)
            time.sleep(random.uniform(0, 0.02 if producer.ours == consumer.ours else 0.8))
            start = time.monotonic_ns()
            queue.enqueue(jobs.stamp, n)
            taken.append((read_stamp(descriptor)[0] - start) / 1e6)
    return taken


def hand_over(lab: Lab, forking: bool, count: int) -> list[float]:
    """Milliseconds between one job's last line and the first line of the next under the same lock; two workers."""
    descriptor = jobs.open_pipe()
    with lab.clean() as connection:
        LOCKED.fill(connection, count)
        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(lab.background(serve, lab.url, LOCKED, forking, cpu=None))
            stamps = sorted(read_stamp(descriptor) for _ in range(count))
    gaps = [(later[0] - earlier[1]) / 1e6 for earlier, later in itertools.pairwise(stamps)]
    if min(gaps) < 0:
        raise RuntimeError("two jobs ran under one lock at once")
    return gaps


def lines(lab: Lab) -> Iterator[Line]:
    """Pick-up from our queue and from plain RQ's, then the hand-over of a lock."""
    samples = 30 if lab.quick else 150
    for kind, forking in (("in-process", False), ("forking", True)):
        ours = pick_up(lab, STAMPED, STAMPED, forking, samples)
        plain = pick_up(lab, PLAIN_STAMPED, PLAIN_STAMPED, forking, samples)
        p95, theirs = percentile(ours, 0.95), percentile(plain, 0.95)
        figure = f"p50 {percentile(ours, 0.5):.1f} p95 {p95:.1f} ms (plain RQ p95 {theirs:.1f})"
        yield below(f"pick-up when idle, our queue, {kind}", figure, p95, 20, "p95 < 20 ms", p95 / theirs)
    foreign = pick_up(lab, PLAIN, STAMPED, False, 6 if lab.quick else 25)
    figure = f"p50 {percentile(foreign, 0.5):.0f} max {max(foreign):.0f} ms"
    yield below("pick-up when idle, jobs of plain RQ", figure, max(foreign), 1000.01, "max <= 1 s")
    for kind, forking in (("in-process", False), ("forking", True)):
        gaps = hand_over(lab, forking, 40 if lab.quick else 200)
        p95 = percentile(gaps, 0.95)
        figure = f"p50 {percentile(gaps, 0.5):.1f} p95 {p95:.1f} max {max(gaps):.1f} ms"
        yield below(f"hand-over of a lock, {kind}", figure, p95, 20, "p95 < 20 ms")
    jobs.close_pipe()
