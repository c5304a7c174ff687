"""Dependents that RQ left behind: of jobs whose end its code did not see, and those that it took off their parent and
put on no queue, as a process died in between or two parents ended at once.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from queueops.conf import conf
from queueops.rdb.scripts import SILENT
from queueops.rq.job import Job
from queueops.rq.queue import Queue
from queueops.rq.ready import move

logger = logging.getLogger("queueops.rq")

PAGE = 50
"""Parents looked at in one call, and jobs that RQ left half way of one queue."""


class Released(NamedTuple):
    """How many: ``parents`` done, ``failed`` ones that cannot be read, dependents ``moved`` that stood half way."""

    parents: int
    failed: int
    moved: int


def release(connection: Any, serializer: Any = None) -> Released:
    """Let RQ decide which dependents of the marked parents may run now, and move on what stands half way.

    Twice is harmless, also at the same time: a dependent leaves its parent's set in RQ's own transaction. A parent
    keeps its mark while Redis is silent (raises one of ``SILENT``).
    """
    marks, done, failed = conf.keys.static("parents"), 0, 0
    for raw in connection.srandmember(marks, PAGE) or []:
        name = raw.decode("utf-8", "replace")
        try:
            job = Job.fetch(name, connection=connection, serializer=serializer)
            Queue(job.origin, connection=connection, serializer=serializer).enqueue_dependents(job)
            done += 1
        except SILENT:
            raise
        except Exception:
            # one that cannot be read keeps no other from being released
            logger.exception("the dependents of job %s cannot be looked at", name)
            failed += 1
        connection.srem(marks, raw)
    return Released(done, failed, _ready(connection, serializer))


def _ready(connection: Any, serializer: Any) -> int:
    """Of every queue."""
    prefix = conf.keys.of("rq_queue", "")
    _, keys = connection.sscan(conf.keys.static("rq_queues"), count=1000)
    names = [key.decode("utf-8", "replace").removeprefix(prefix) for key in keys]
    with connection.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.zrange(conf.keys.of("rq_ready", name), 0, PAGE - 1)
        left = pipe.execute()
    return sum(
        move(connection, name, [job_id.decode("utf-8", "replace") for job_id in ids], serializer)
        for name, ids in zip(names, left, strict=True)
        if ids
    )
