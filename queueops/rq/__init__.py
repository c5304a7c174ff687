"""The doors wired into RQ: name these classes in ``RQ`` and in ``RQ_QUEUES``. Nothing else subclasses RQ's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.rq.job import Job
    from queueops.rq.queue import Queue
    from queueops.rq.worker import SimpleWorker, Worker

__all__ = ["Job", "Queue", "SimpleWorker", "Worker"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    places = {"Job": "job", "Queue": "queue", "Worker": "worker", "SimpleWorker": "worker"}
    if name not in places:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"queueops.rq.{places[name]}"), name)
