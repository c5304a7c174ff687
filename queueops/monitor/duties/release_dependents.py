"""Dependents of jobs that ended without RQ's code looking at them: the worker died in between, or with its job."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.rq import dependents


def act(context: Context) -> dict[str, Any]:
    """A page of them; a worker that lives on does the same for its own."""
    return dependents.release(context.connection)._asdict()
