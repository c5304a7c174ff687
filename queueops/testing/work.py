"""A worker inside a test."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django_rq import get_queue

from queueops.rq import Job, SimpleWorker


class _Burst(SimpleWorker):
    """Takes no signals and no commands: both are the test's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.ended: list[tuple[Job, str]] = []
        super().__init__(*args, **kwargs)

    def _install_signal_handlers(self) -> None: ...

    def subscribe(self) -> None: ...

    def unsubscribe(self) -> None: ...

    def tell_settled(self, job: Any) -> None:
        self.ended.append((job, self.outcome))
        super().tell_settled(job)


def run_jobs(*queues: str) -> list[tuple[Job, str]]:
    """Run what may run now, and what that lets run, in this process: each run's job and outcome, in order.

    ``queues``: strict order, as a worker takes them; all of ``RQ_QUEUES`` unless given. What a control keeps back stays
    parked.
    """
    found = [get_queue(name) for name in queues or settings.RQ_QUEUES]
    worker = _Burst(found, connection=found[0].connection)
    worker.work(burst=True, logging_level="WARNING")
    return worker.ended
