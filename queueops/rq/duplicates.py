"""What becomes of a job whose unique lock another one holds, on the side of the caller."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from rq.exceptions import DuplicateJobError
from rq.job import JobStatus

from queueops.primitives.errors import NotAcquired
from queueops.rdb.doors import Enqueued
from queueops.rq.job import Job

logger = logging.getLogger("queueops.rq")


class DuplicateJob(DuplicateJobError):
    """``Unique(on_conflict="raise")``: another job counts already. ``holder_id`` is its id."""

    def __init__(self, function: str, holder_id: str) -> None:
        super().__init__(f"{function}: job {holder_id} of the same kind is there already")
        self.function = function
        self.holder_id = holder_id


REFUSALS = (DuplicateJob, NotAcquired)


def resolved(queue: Any, job: Job, answer: Enqueued) -> Job:
    """The job that stands for the call: itself, or the one that counts instead. Raises ``DuplicateJob``."""
    if answer.code == "HELD":
        if answer.how == "raise":
            raise DuplicateJob(job.function, answer.detail)
        logger.info("%s: not enqueued, job %s of the same kind is there already", job.function, answer.detail)
    elif answer.code == "REJECTED":
        job._status = JobStatus.FAILED
        logger.info("%s: job %s is quarantined as a duplicate of %s", job.function, job.id, answer.detail)
    elif answer.code == "WAITS":
        job._status = JobStatus.SCHEDULED
    if answer.code in ("HELD", "COALESCED", "DUPLICATE"):
        other = job.id if answer.code == "DUPLICATE" else answer.detail
        # its hash may be gone: a lock that only time ends outlives its job
        return queue.fetch_job(other) or Job(other, connection=queue.connection, serializer=queue.serializer)
    return job


def resolved_or_error(queue: Any, job: Job, answer: Enqueued) -> Job | Exception:
    """The same for one of many: the error is its result, so that the others are told, too."""
    return or_error(resolved, queue, job, answer)


def or_error(call: Callable[..., Job], *args: Any) -> Job | Exception:
    """What ``call`` returns, or the refusal that it raises."""
    try:
        return call(*args)
    except REFUSALS as error:
        return error


def after_commit(call: Any, *args: Any, **kwargs: Any) -> None:
    """Run an enqueue in a commit hook: a refusal is logged (and counted by the door), the other hooks go on."""
    try:
        call(*args, **kwargs)
    except REFUSALS as error:
        logger.warning("after commit: %s", error)
