"""RQ's transaction at the end of a run, made directly.

Of a plain success: RQ's own way to it is a third of a no-op job's cost. Of a failure that RQ cannot write down.
"""

from __future__ import annotations

from typing import Any

from rq.defaults import DEFAULT_FAILURE_TTL
from rq.job import JobStatus
from rq.results import Result
from rq.utils import current_timestamp, now, utcformat

from queueops.conf import conf

_SAVED = (
    "created_at",
    "enqueued_at",
    "last_heartbeat",
    "worker_name",
    "group_id",
    "origin",
    "description",
    "timeout",
    "result_ttl",
    "failure_ttl",
    "ttl",
    "number_of_retries",
    "retries_left",
    "enqueue_at_front_on_retry",
    "enqueue_at_front",
    "allow_dependency_failures",
    "_success_callback_name",
    "_failure_callback_name",
    "_stopped_callback_name",
    "_success_callback_timeout",
    "_failure_callback_timeout",
    "_stopped_callback_timeout",
    "_exc_info",
)
_LISTS = ("retry_intervals", "_dependency_ids")


def saved_by_rq(job: Any) -> tuple[Any, ...]:
    """What RQ writes at the end of a run and a body may have changed on its own job."""
    return (*(getattr(job, name) for name in _SAVED), *(tuple(getattr(job, name) or ()) for name in _LISTS))


def plain_success(worker: Any, job: Any, execution: Any, before: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
    """The commands that RQ's ``handle_job_success`` records, less what :func:`trimmed` drops; None if only RQ knows.

    ``before`` is :func:`saved_by_rq` from before the run. Nothing is sent, and the job's status is set as RQ does.
    """
    ttl = job.get_result_ttl(worker.default_result_ttl)
    special = job.repeats_left or job.repeat_intervals or job.webhooks or job.has_rate_limit or job.rate_limit_key
    if special or not isinstance(ttl, int) or ttl <= 0 or saved_by_rq(job) != before:
        return None
    result = Result(
        job_id=job.id,
        type=Result.Type.SUCCESSFUL,
        connection=job.connection,
        return_value=job._result,
        worker_name=worker.name,
        serializer=job.serializer,
        execution_id=execution.id,
        execution_started_at=execution.created_at,
        execution_ended_at=job.ended_at,
    ).serialize()
    results = conf.keys.of("rq_results", job.id)
    job._status = JobStatus.FINISHED
    commands = [
        ("HINCRBY", worker.key, "successful_job_count", 1),
        ("HINCRBYFLOAT", worker.key, "total_working_time", (job.ended_at - job.started_at).total_seconds()),
        (
            *("HSET", job.key, "status", "finished"),
            *("started_at", utcformat(job.started_at), "ended_at", utcformat(job.ended_at)),
        ),
        ("XADD", results, "MAXLEN", "~", 10, "*", *(part for pair in result.items() for part in pair)),
        ("EXPIRE", results, ttl),
        ("ZADD", conf.keys.of("rq_finished", job.origin), current_timestamp() + ttl, job.id),
        ("EXPIRE", job.key, ttl),
    ]
    if job._dependency_ids:
        commands.append(("EXPIRE", job.dependencies_key, ttl))
    return commands


def plain_failure(connection: Any, job_id: str, queue: str, text: str, **run: Any) -> list[tuple[Any, ...]]:
    """The commands of a final failure, made of nothing that the job's own code may have changed. ``run``: what RQ's
    ``Result`` keeps of it.
    """
    ended_at = now()
    result = Result(job_id, Result.Type.FAILED, connection, exc_string=text, execution_ended_at=ended_at, **run)
    parts = (part for pair in result.serialize().items() for part in pair)
    key, results = conf.keys.of("rq_job", job_id), conf.keys.of("rq_results", job_id)
    return [
        ("HSET", key, "status", "failed", "ended_at", utcformat(ended_at)),
        ("XADD", results, "MAXLEN", "~", 10, "*", *parts),
        ("EXPIRE", results, DEFAULT_FAILURE_TTL),
        ("ZADD", conf.keys.of("rq_failed", queue), current_timestamp() + DEFAULT_FAILURE_TTL, job_id),
        ("EXPIRE", key, DEFAULT_FAILURE_TTL),
    ]
