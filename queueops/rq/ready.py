"""Jobs whose dependencies are done, and that RQ has not yet put on their queue."""

from __future__ import annotations

from typing import Any

from rq.registry import ReadyJobRegistry

from queueops.rq.job import Job

TURNS = 5
"""How often they are tried in one call: RQ concedes each to any other that is moved at the same moment."""


def move(connection: Any, name: str, ids: list[str], serializer: Any = None, first: bool = True) -> int:
    """Put ready jobs on their queue; how many. RQ gives one up when another job becomes ready at the same moment, and
    would look again ten minutes later. ``first`` False: it has been tried once.
    """
    registry = ReadyJobRegistry(name, connection=connection, job_class=Job, serializer=serializer)
    moved = 0
    for turn in range(TURNS):
        if turn or not first:
            scores = connection.zmscore(registry.key, ids)
            ids = [job_id for job_id, score in zip(ids, scores, strict=True) if score is not None]
        if not ids:
            break
        moved += len(registry.enqueue_jobs(ids))
    return moved
