"""RQ's queue, whose enqueue goes through the enqueue door: one script checks, saves, pushes, counts, rings."""

from __future__ import annotations

import calendar
import logging
import warnings
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django_rq.queues import DjangoRQ
from redis.client import Pipeline
from redis.exceptions import RedisError
from rq.exceptions import DuplicateJobError
from rq.job import JobStatus
from rq.utils import now

from queueops.middleware import job_controls
from queueops.rdb import doors
from queueops.rq import duplicates, inline, ready
from queueops.rq.job import Job
from queueops.rq.order import in_order
from queueops.rq.recorder import Recorder

logger = logging.getLogger("queueops.rq")


class Queue(DjangoRQ):
    """As ``rq.Queue`` (and django-rq's, with its commit modes). Name it as ``RQ["QUEUE_CLASS"]``."""

    job_class = Job

    def create_job(self, func: Any, args: Any = None, kwargs: Any = None, *more: Any, **options: Any) -> Any:
        """As RQ's; the claims are made here, once. Raises ``ClaimError`` naming the function and the option."""
        job: Any = super().create_job(func, args, kwargs, *more, **options)
        job.fresh = True
        callable_: Callable[..., Any] | None = func if callable(func) else None
        if job.meta:
            job.set_tags(job.meta.get("tags"))
        controls = job_controls(str(job.func_name), callable_, tuple(args or ()), kwargs or {}, self.name)
        if controls is not None:
            job.set_controls(controls)
        return job

    def original_enqueue_call(self, *args: Any, **kwargs: Any) -> Any:
        """As django-rq's, also for a queue that ``RQ_QUEUES`` does not name."""
        if self.name in settings.RQ_QUEUES:
            return super().original_enqueue_call(*args, **kwargs)
        return super(DjangoRQ, self).enqueue_call(*args, **kwargs)

    def enqueue_job(
        self, job: Any, pipeline: Pipeline | None = None, at_front: bool = False, unique: bool = False
    ) -> Any:
        """As RQ's, in one round trip. A job with dependencies or with RQ's own rate limit takes RQ's path and is
        counted beside it. A job that has been through the door before (a requeue) is RQ's alone.
        """
        fresh = getattr(job, "fresh", False)
        if not fresh or job._dependency_ids or job.has_rate_limit:
            if fresh and job.uniques_text:
                # RQ saves it in steps of its own; its locks are taken before
                answer = self._door(job, "reserve", None, unique)
                if answer is not None and answer.code not in ("OK", "EXISTS", "DUPLICATE"):
                    job.fresh = False
                    return duplicates.resolved(self, job, answer)
            job.uncounted = fresh
            job = super().enqueue_job(job, pipeline=pipeline, at_front=at_front, unique=unique)
            if fresh and job.get_status(refresh=False) in (
                JobStatus.DEFERRED,
                JobStatus.RATE_LIMITED,
                JobStatus.QUEUED,
            ):
                self._accept(job, pipeline)
            return job
        if unique and not job._id:
            raise ValueError("unique=True requires an explicit job_id")
        job.origin = self.name
        self.setup_dependencies(job, pipeline=pipeline)
        return self._enqueue_job(job, pipeline=pipeline, at_front=at_front, unique=unique)

    def enqueue_ready_jobs_by_queue(self, job_ids_by_queue_name: dict[str, list[str]]) -> None:
        """As RQ's, and again for those that it gave up because other parents ended at the same moment."""
        super().enqueue_ready_jobs_by_queue(job_ids_by_queue_name)
        for name, ids in job_ids_by_queue_name.items():
            try:
                ready.move(self.connection, name, ids, self.serializer, first=False)
            except RedisError as error:
                logger.warning("ready jobs of %s are moved later: %s", name, error)

    def _accept(self, job: Job, pipeline: Pipeline | None) -> None:
        """Count a job that RQ itself has saved. If this process dies before that, the claim door counts it."""
        if not job.fresh:
            return
        job.fresh = job.uncounted = False
        doors.enqueue(
            pipeline if pipeline is not None else self.connection,
            mode="deferred",
            job_id=job.id,
            queue=self.name,
            function=job.function,
            mapping={},
        )

    def _prepare(self, job: Job, status: JobStatus) -> None:
        job.origin = self.name
        if status is JobStatus.QUEUED:
            job.enqueued_at = now()
        if job.timeout is None:
            job.timeout = self._default_timeout
        job._status = status

    def _pass_door(self, job: Job, mode: str, pipeline: Pipeline | None, unique: bool, **more: Any) -> tuple[Any, bool]:
        """``(job, new)``: the job itself, or the one that counts instead."""
        answer = self._door(job, mode, pipeline, unique, **more)
        job.fresh = False
        if answer is None:
            return job, True
        if answer.code == "EXISTS":
            raise DuplicateJobError(f"Job with ID {job.id!r} already exists")
        return duplicates.resolved(self, job, answer), answer.code == "OK"

    def _door(self, job: Job, mode: str, pipeline: Pipeline | None, unique: bool, **more: Any) -> doors.Enqueued | None:
        target: Any = pipeline if pipeline is not None and not unique else self.connection
        answer = doors.enqueue(
            target,
            mode=mode,
            job_id=job.id,
            queue=self.name,
            function=job.function,
            mapping=job.to_dict(),
            ttl=job.ttl or 0,
            unique=unique,
            uniques=job.uniques_text,
            **more,
        )
        if answer is None:
            job.place = len(target.command_stack) - 1
        return answer

    def enqueue_many(
        self, job_datas: Iterable[Any], pipeline: Pipeline | None = None, group_id: str | None = None
    ) -> list[Any]:
        """As RQ's, with a result per item: the job, the one that counts instead, or the error that ``enqueue`` would
        raise, ``DuplicateJob`` or ``NotAcquired``. Those that depend on others come last, each is enqueued alone, and
        so is each that runs in its caller.

        Inside a transaction with django-rq's ``on_db_commit`` they are all enqueued when it commits.
        """
        if pipeline is not None:
            return list(super().enqueue_many(job_datas, pipeline, group_id))
        datas = list(job_datas)
        together = [data for data in datas if not data.depends_on and self._is_async]
        others = in_order([data for data in datas if data.depends_on or not self._is_async])
        pipe = self.connection.pipeline()
        jobs: list[Any] = super().enqueue_many(together, pipe, group_id) if together or not others else []
        alone = [self._one(data, group_id) for data in others]
        if self._waits_for_commit():
            transaction.on_commit(pipe.execute)
            for job in alone:
                transaction.on_commit(partial(duplicates.after_commit, self._enqueue_one, job))
            return jobs + alone
        answers = pipe.execute()
        jobs = [duplicates.resolved_or_error(self, job, doors.enqueued(answers[job.place])) for job in jobs]
        return jobs + [duplicates.or_error(self._enqueue_one, job) for job in alone]

    def _one(self, data: Any, group_id: str | None) -> Any:
        options = {name: value for name, value in data._asdict().items() if name != "at_front"}
        job = self.create_job(**options, group_id=group_id)
        job.enqueue_at_front = job.enqueue_at_front or data.at_front
        return job

    def _enqueue_one(self, job: Any) -> Any:
        return self.enqueue_job(job, at_front=bool(job.enqueue_at_front))

    def enqueue_call(self, *args: Any, **kwargs: Any) -> Any:
        """As django-rq's; a duplicate found at the commit is logged and keeps no other hook from running."""
        if self._waits_for_commit():
            transaction.on_commit(lambda: duplicates.after_commit(self.original_enqueue_call, *args, **kwargs))
            return None
        return super().enqueue_call(*args, **kwargs)

    def _waits_for_commit(self) -> bool:
        return bool(self._commit_mode == "on_db_commit" and connection.in_atomic_block)

    def _enqueue_async_job(
        self, job: Any, pipeline: Pipeline | None = None, at_front: bool = False, unique: bool = False
    ) -> Any:
        deferred = job.get_status(refresh=False) == JobStatus.DEFERRED
        if not getattr(job, "fresh", False) or deferred or job._dependency_ids:
            result = super()._enqueue_async_job(job, pipeline=pipeline, at_front=at_front, unique=unique)
            if deferred and getattr(job, "fresh", False):
                self._accept(job, pipeline)
            return result
        self._prepare(job, JobStatus.QUEUED)
        return self._pass_door(job, "queue", pipeline, unique, at_front=at_front)[0]

    def enqueue_in(self, time_delta: timedelta, func: Any, *args: Any, **kwargs: Any) -> Any:
        """As RQ's, but counted from the store's clock: this host's clock decides nothing."""
        at = now() + time_delta
        return self.enqueue_at(_Relative.of(at, time_delta.total_seconds()), func, *args, **kwargs)

    def enqueue_at(self, datetime: datetime, f: Any, *args: Any, **kwargs: Any) -> Any:
        """As RQ's. A time without a zone means this host's local time, as RQ documents, and warns."""
        if datetime.tzinfo is None:
            warnings.warn(
                f"enqueue_at got {datetime!r}, which has no zone: it is read as this host's local time. "
                "Give an aware time, e.g. django.utils.timezone.now() + delta.",
                stacklevel=2,
            )
            datetime = datetime.astimezone()
        return super().enqueue_at(datetime, f, *args, **kwargs)

    def schedule_job(self, job: Any, datetime: datetime, pipeline: Pipeline | None = None, unique: bool = False) -> Any:
        if not getattr(job, "fresh", False):
            return super().schedule_job(job, datetime, pipeline=pipeline, unique=unique)
        self._check_rate_limit_namespace(job)
        if unique and not job._id:
            raise ValueError("unique=True requires an explicit job_id")
        self._prepare(job, JobStatus.SCHEDULED)
        if pipeline is None and self._waits_for_commit():
            transaction.on_commit(
                lambda: duplicates.after_commit(self._pass_door, job, "schedule", None, unique, due=_due(datetime))
            )
            return job
        return self._pass_door(job, "schedule", pipeline, unique, due=_due(datetime))[0]

    def _enqueue_sync_job(self, job: Any, pipeline: Pipeline | None = None, unique: bool = False) -> Any:
        if not getattr(job, "fresh", False) or job._dependency_ids:
            return super()._enqueue_sync_job(job, unique=unique)
        self._prepare(job, JobStatus.QUEUED)
        job, new = self._pass_door(job, "sync", None, unique)
        # an open job with this id is another's to run
        return self.run_sync(job) if new else job

    def run_sync(self, job: Any) -> Any:
        """Run a job in its caller under its claims. Raises ``NotAcquired`` when a control, a pause or an isolation
        refuses; nothing waits then, the job is recorded as skipped.
        """
        self._accept(job, None)
        inline.run(self, job)
        return job

    def move_dependents_to_ready(self, job: Any, pipeline: Pipeline | None = None, *args: Any, **kwargs: Any) -> Any:
        """As RQ's; the settle door refuses a recorded transaction if the job has dependents after all."""
        if isinstance(pipeline, Recorder):
            return {}
        return super().move_dependents_to_ready(job, pipeline, *args, **kwargs)

    @classmethod
    def dequeue_any(cls, *args: Any, **kwargs: Any) -> Any:
        """Only our worker may take a job: another would run it without its controls. Raises ImproperlyConfigured."""
        raise ImproperlyConfigured(
            "queueops.rq.Queue is read by queueops.rq.Worker only. Set RQ['WORKER_CLASS'] = 'queueops.rq.Worker' "
            "or start workers with: manage.py queueops worker"
        )


class _Relative(datetime):
    """A time that was given as a delay: kept, so that the store's clock can be asked."""

    seconds_from_now: float = 0.0

    @classmethod
    def of(cls, at: datetime, seconds: float) -> _Relative:
        made = cls(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, at.tzinfo)
        made.seconds_from_now = seconds
        return made


def _due(at: datetime) -> str:
    """A time, or a delay from the store's now, as the enqueue door takes it."""
    if isinstance(at, _Relative):
        return f"+{at.seconds_from_now:.6f}"
    return str(calendar.timegm((at if at.tzinfo else at.astimezone()).utctimetuple()))
