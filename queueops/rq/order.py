"""The order in which jobs of one ``enqueue_many`` are enqueued: each after those that it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from rq.job import Dependency


def in_order(datas: Sequence[Any]) -> list[Any]:
    """RQ's ``EnqueueData``, parents first, else as they came. Raises ``ValueError`` for an id given twice and for jobs
    that depend on each other in a circle: none of those would ever run.
    """
    at: dict[str, int] = {}
    for n, data in enumerate(datas):
        if data.job_id is not None and at.setdefault(data.job_id, n) != n:
            raise ValueError(f"Job ID '{data.job_id}' appears more than once in enqueue_many()")
    graph = {n: [at[i] for i in _parents(data.depends_on) if i in at] for n, data in enumerate(datas)}
    try:
        return [datas[n] for n in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        circle = " -> ".join(str(datas[n].job_id) for n in error.args[1])
        raise ValueError(f"these jobs depend on each other and would never run: {circle}") from None


def _parents(depends_on: Any) -> Iterator[str]:
    if isinstance(depends_on, Dependency):
        depends_on = depends_on.dependencies
    for one in depends_on if isinstance(depends_on, (list, tuple)) else [depends_on]:
        if isinstance(one, Dependency):
            yield from _parents(one)
        else:
            yield str(getattr(one, "id", one))
