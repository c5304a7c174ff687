"""The verbs: every change that a person makes, one function each, each leaving an intervention.

They are loaded on first use, so that importing this package imports no model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.diagnosis.explain import Explanation, explain
    from queueops.operations.batches import BulkResult
    from queueops.operations.bulk import discard, quarantine, replay, requeue, run_now
    from queueops.operations.cron import run_cron
    from queueops.operations.errors import OperationError, UnknownName
    from queueops.operations.isolations import isolate, unisolate
    from queueops.operations.limits import limit
    from queueops.operations.pauses import pause, resume
    from queueops.operations.protocol import Change
    from queueops.operations.releases import Released, release
    from queueops.operations.selection import Selection
    from queueops.operations.workers import WorkerChange, quiet, stop_job, stop_worker, unquiet
    from queueops.rdb.client import told

_PLACES = {
    "BulkResult": "operations.batches",
    "Change": "operations.protocol",
    "Explanation": "diagnosis.explain",
    "OperationError": "operations.errors",
    "Released": "operations.releases",
    "Selection": "operations.selection",
    "UnknownName": "operations.errors",
    "WorkerChange": "operations.workers",
    "discard": "operations.bulk",
    "explain": "diagnosis.explain",
    "isolate": "operations.isolations",
    "limit": "operations.limits",
    "pause": "operations.pauses",
    "quarantine": "operations.bulk",
    "quiet": "operations.workers",
    "release": "operations.releases",
    "replay": "operations.bulk",
    "requeue": "operations.bulk",
    "resume": "operations.pauses",
    "run_cron": "operations.cron",
    "run_now": "operations.bulk",
    "stop_job": "operations.workers",
    "stop_worker": "operations.workers",
    "told": "rdb.client",
    "unisolate": "operations.isolations",
    "unquiet": "operations.workers",
}

__all__ = [
    "BulkResult",
    "Change",
    "Explanation",
    "OperationError",
    "Released",
    "Selection",
    "UnknownName",
    "WorkerChange",
    "discard",
    "explain",
    "isolate",
    "limit",
    "pause",
    "quarantine",
    "quiet",
    "release",
    "replay",
    "requeue",
    "resume",
    "run_cron",
    "run_now",
    "stop_job",
    "stop_worker",
    "told",
    "unisolate",
    "unquiet",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"queueops.operations has no {name}")
    return getattr(import_module(f"queueops.{place}"), name)
