"""A job that runs in its caller (``is_async=False``): its claims, its hooks and one settle, as in a worker.

As in RQ it is tried once, whatever retries and repeats it was given, and nobody ends it when its timeout is over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from redis.client import Pipeline
from rq import Retry
from rq.callbacks import execute_failure_callback, execute_success_callback
from rq.defaults import DEFAULT_RESULT_TTL
from rq.job import JobStatus
from rq.job_lifecycle import record_job_failure
from rq.utils import now

from queueops import mirror
from queueops.middleware import Discard, Fail, Postpone
from queueops.primitives.errors import NotAcquired
from queueops.rdb import doors
from queueops.rdb.client import Server
from queueops.rdb.scripts import SILENT
from queueops.rq import dependency
from queueops.rq.execution import CurrentExecution, executing
from queueops.rq.failures import error_line, failure, traceback_text, verdict
from queueops.rq.finish import plain_failure
from queueops.rq.hooks import Hooks, hooks_of, tell, through
from queueops.rq.job import Job
from queueops.rq.recorder import Recorder, trimmed

logger = logging.getLogger("queueops.rq")

SLACK = 60.0
"""Seconds that the lease outlasts the job's timeout."""
NAME = "sync"
"""RQ's word for the worker that is none."""
STATUS = {
    "completed": JobStatus.FINISHED,
    "failed": JobStatus.FAILED,
    "quarantined": JobStatus.FAILED,
    "postponed": JobStatus.SCHEDULED,
    "discarded": JobStatus.CANCELED,
}


@dataclass(frozen=True, slots=True)
class _End:
    """How a run ended, before it is recorded."""

    outcome: str
    options: dict[str, Any]
    commands: Sequence[tuple[Any, ...]] = ()
    error: BaseException | None = None
    text: str = ""


def run(queue: Any, job: Job) -> None:
    """Run ``job`` under its claims and record its outcome.

    Raises ``NotAcquired`` when it may not start, and again what is no ``Exception`` (Ctrl-C) once it is recorded.
    """
    token = uuid4().hex
    _take(queue, job, token)
    hooks, outcome = hooks_of(job), "unknown"
    end = _perform(queue, job, hooks, CurrentExecution(token, job.id, job.attempt + 1, queue.name, NAME))
    try:
        end, answer = _record(queue, job, token, end)
        outcome = answer.outcome or "crashed"
    finally:
        tell(hooks, job, outcome, lambda error: not isinstance(error, Exception))
    job._status = STATUS.get(outcome, job._status)
    if answer.dependents:
        queue.enqueue_dependents(job)
    _call_back(queue, job, outcome, end)
    if end.error is not None and not isinstance(end.error, Exception):
        raise end.error


def _take(queue: Any, job: Job, token: str) -> None:
    timeout = job.timeout if job.timeout and job.timeout > 0 else queue._default_timeout
    asked = (queue.connection, job.id, queue.name, job.function, token, timeout + SLACK)
    refused = doors.take(*asked)
    if refused == "MIRROR_MISSING":
        mirror.rebuild(Server(queue.name, queue.connection, (queue.name,)))
        refused = doors.take(*asked)
    if refused is not None:
        raise NotAcquired(f"{job.function or job.id} may not run now: {refused.replace(chr(31), ' ').strip()}")


def _perform(queue: Any, job: Job, hooks: Hooks, execution: CurrentExecution) -> _End:
    job.worker_name, job.started_at, job._status = NAME, now(), JobStatus.STARTED
    job.stored = {}  # what was read before the start says nothing of what the hash holds now
    try:
        try:
            with executing(execution):
                job._result = through(hooks, job)
            if isinstance(job._result, Retry):
                raise Fail(f"asked for another try: {job._result!r}. A job that runs in its caller is tried once.")
            job.ended_at = now()
            return _End("completed", {}, _commands(queue, job, execution.token, lambda pipe: _success(job, pipe)))
        except (Postpone, Discard) as word:
            return _End(*verdict(word))
    except BaseException as error:
        return _failed(queue, job, execution.token, error)


def _success(job: Job, pipeline: Pipeline) -> None:
    ttl = job.get_result_ttl(DEFAULT_RESULT_TTL)
    job._handle_success(ttl, pipeline=pipeline)
    job.cleanup(ttl, pipeline=pipeline, remove_from_queue=False)


def _failed(queue: Any, job: Job, token: str, error: BaseException) -> _End:
    end = _plainly_failed(queue, job, error)
    try:
        job.ended_at = now()
        return replace(end, commands=_commands(queue, job, token, lambda pipe: record_job_failure(job, end.text, pipe)))
    except Exception as problem:
        logger.error("recording job %s in RQ's way: %s", job.id, error_line(problem))
        return end


def _plainly_failed(queue: Any, job: Job, error: BaseException) -> _End:
    """Without RQ, which may not be able to write it down."""
    text = traceback_text(type(error), error, error.__traceback__)
    options = failure(type(error), error, error.__traceback__, job.function)
    if job.breakers:
        options["breakers"] = job.breakers
    return _End("failed", options, plain_failure(queue.connection, job.id, queue.name, text), error, text)


def _commands(queue: Any, job: Job, token: str, write: Callable[[Pipeline], None]) -> list[tuple[Any, ...]]:
    """What RQ writes, for the settle door to replay."""
    found: list[tuple[Any, ...]] = []
    pipeline = Recorder(queue.connection, found.extend)
    job.status_is_recorded = True
    try:
        write(pipeline)
        pipeline.execute()
    finally:
        job.status_is_recorded = False
    return trimmed(found, job, token)


def _record(queue: Any, job: Job, token: str, end: _End) -> tuple[_End, doors.Settled]:
    """Settle; the end is another one when it cannot be written down."""
    try:
        answer = _settle(queue, job, token, end)
    except SILENT:
        raise  # whatever the job did, its lease brings it back
    except Exception as problem:
        # one of RQ's fields, which the job may have changed, cannot be sent
        logger.error("recording job %s in RQ's way: %s", job.id, error_line(problem))
        end = _plainly_failed(queue, job, end.error or problem)
        answer = _settle(queue, job, token, end)
    if answer.code == "LOST":
        logger.warning("job %s ended after losing its lease: nothing was recorded, a worker runs it again", job.id)
    return end, answer


def _settle(queue: Any, job: Job, token: str, end: _End) -> doors.Settled:
    used = dependency.told(token)
    options = {**end.options, **({"dependencies": used} if used else {})}
    answer = doors.settle(queue.connection, token, end.outcome, commands=end.commands, job=job.id, **options)
    dependency.forget(token)
    return answer


def _call_back(queue: Any, job: Job, outcome: str, end: _End) -> None:
    """As RQ's: after the end, and an error of theirs reaches the caller."""
    if outcome == "completed":
        execute_success_callback(job, queue.death_penalty_class, job._result)
        job.send_webhooks(JobStatus.FINISHED)
    elif end.error is not None and outcome in ("failed", "quarantined"):
        error = end.error
        execute_failure_callback(job, queue.death_penalty_class, type(error), error, error.__traceback__)
        job.send_webhooks(JobStatus.FAILED, exc_string=end.text)
