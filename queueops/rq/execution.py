"""What a running job may know of its own run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CurrentExecution:
    """One run of one job. ``token`` is new for every run, ``attempt`` counts from 1 over all requeues."""

    token: str
    job_id: str
    attempt: int
    queue: str
    worker: str


_current: ContextVar[CurrentExecution | None] = ContextVar("queueops_execution", default=None)


def current_execution() -> CurrentExecution | None:
    """The run that this code is part of; None outside a job."""
    return _current.get()


@contextmanager
def executing(execution: CurrentExecution | None) -> Iterator[None]:
    """Make ``execution`` the current one for the time of the block."""
    token = _current.set(execution)
    try:
        yield
    finally:
        _current.reset(token)
