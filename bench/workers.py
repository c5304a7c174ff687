"""The two sides: plain RQ's classes and ours, with a clock around their loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis
import rq

from bench import jobs

QUEUE = "default"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the things compared: who enqueues and runs what."""

    name: str
    ours: bool
    function: Callable[..., Any]

    def queue(self, connection: redis.Redis, name: str = QUEUE) -> Any:
        """A queue of this side."""
        if self.ours:
            from queueops.rq import Queue

            return Queue(name, connection=connection)
        return rq.Queue(name, connection=connection)

    def worker_class(self, forking: bool) -> type[Any]:
        """This side's worker, with a clock and without RQ's teardown, which waits a second or so."""
        if self.ours:
            from queueops.rq import SimpleWorker, Worker

            return _timed(Worker if forking else SimpleWorker)
        return _timed(rq.Worker if forking else rq.SimpleWorker)

    def fill(self, connection: redis.Redis, count: int) -> None:
        """Put ``count`` jobs on the queue."""
        queue = self.queue(connection)
        for n in range(count):
            queue.enqueue(self.function, n)


PLAIN = Side("plain RQ", False, jobs.nothing)
BARE = Side("0 controls", True, jobs.nothing)
THREE = Side("3 controls", True, jobs.under_three)
SIDES = (PLAIN, BARE, THREE)


def _timed(base: type[Any]) -> type[Any]:
    class Timed(base):
        started = 0.0
        ended = 0.0

        def dequeue_job_and_maintain_ttl(self, *args: Any, **kwargs: Any) -> Any:
            found = super().dequeue_job_and_maintain_ttl(*args, **kwargs)
            self.started = self.started or time.perf_counter()
            if found is None:
                self.ended = time.perf_counter()
            return found

        def teardown(self) -> None:
            """Nothing: the process ends, and the server is emptied."""

    return Timed


def drain(url: str, side: Side, forking: bool) -> float:
    """Run what is queued; seconds from the first job in hand until the queue was found empty."""
    connection = redis.Redis.from_url(url)
    worker = side.worker_class(forking)([side.queue(connection)], connection=connection)
    worker.work(burst=True, logging_level="ERROR")
    return float(worker.ended - worker.started)


def serve(url: str, side: Side, forking: bool, queues: tuple[str, ...] = (QUEUE,)) -> None:
    """A worker that goes on until it is killed."""
    connection = redis.Redis.from_url(url)
    worker = side.worker_class(forking)([side.queue(connection, name) for name in queues], connection=connection)
    worker.work(logging_level="ERROR")
