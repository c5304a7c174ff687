"""Due scheduled jobs that RQ's own RateLimit governs.

RQ's scheduler would hand them to the limit; our workers run no scheduler and the doors leave such jobs to RQ. This does
that one step as RQ does it, without unpickling anything; RQ's own script then lets in as many as the limit allows.
"""

from __future__ import annotations

from typing import Any

from rq.rate_limit import RateLimitRegistry

from queueops.conf import conf
from queueops.monitor.duty import Context
from queueops.rdb.scripts import run
from queueops.telemetry.batch import Batch, number, text
from queueops.telemetry.discovery import QueueSearch

PER_QUEUE = 20


def act(context: Context) -> dict[str, Any]:
    """Move at most ``PER_QUEUE`` jobs a queue."""
    keys, first = conf.keys, Batch(context.connection)
    search, time = QueueSearch(first, keys, context.server.queues), first.call("time")
    first.run()
    now = time.get((0, 0))[0]
    second = Batch(context.connection)
    heads = {
        name: second.call("zrangebyscore", keys.of("rq_scheduled", name), "-inf", now, start=0, num=PER_QUEUE)
        for name in search.result().names
    }
    second.run()
    third = Batch(context.connection)
    fields = ("rate_limit_key", "rate_limit_concurrency")
    jobs = [
        (name, job, third.call("hmget", keys.of("rq_job", job), fields))
        for name, slot in heads.items()
        for job in map(text, slot.get([]))
        if job is not None
    ]
    third.run()
    moved, limits = 0, {}
    for queue, job, slot in jobs:
        limit, most = text(slot.get([None])[0]), number(slot.get([None, None])[-1])
        if limit and most and run(context.connection, "rq_limit_due", queue, job, limit, most):
            limits[limit] = most
            moved += 1
    for limit, most in limits.items():
        RateLimitRegistry(limit, context.connection).acquire_and_enqueue(most)
    return {"moved": moved}
