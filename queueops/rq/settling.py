"""How a run ends: the settle door, with RQ's own transaction recorded and replayed inside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from redis.exceptions import ResponseError
from rq.executions import Execution
from rq.timeouts import JobTimeoutException
from rq.utils import now
from rq.worker.base import BaseWorker, WorkerStatus

from queueops.conf import conf
from queueops.middleware import Discard, Postpone
from queueops.rdb import doors
from queueops.rdb.keys import JOB_FIELDS
from queueops.rdb.scripts import SILENT
from queueops.rq import dependency, dependents
from queueops.rq.execution import CurrentExecution, executing
from queueops.rq.failures import PlainRecords, error_line, failure, short, traceback_text, verdict
from queueops.rq.finish import plain_failure, plain_success, saved_by_rq
from queueops.rq.hooks import Hooks, tell, through
from queueops.rq.recorder import recording, trimmed


class LeaseLost(BaseException):
    """The run ended after its lease: the job is another worker's now. Passes RQ's failure handling unseen."""


class SettleFailed(BaseException):
    """Redis did not answer until the lease was over: the outcome cannot be recorded; the lease brings the job back."""


class _HasDependents(BaseException):
    """The recorded transaction would leave dependents behind: RQ's own path must run."""


@contextmanager
def _left_to_lease() -> Iterator[None]:
    """A job that did its work has not failed because Redis was silent afterwards."""
    try:
        yield
    except SILENT as error:
        raise SettleFailed(f"the end of the run could not be recorded: {error}") from error


class Settling(BaseWorker):
    """Mixin for RQ's workers: replaces how the end of a run is written."""

    token = ""
    span = 30.0
    """Seconds of the lease in hand."""
    claimed: Execution | None = None
    current: CurrentExecution | None = None
    hooks: Hooks = ()
    """Of the job in hand."""
    cold_stop = False
    crash_reason = ""
    lease_lost = False
    outcome = ""
    """What was recorded for the newest run; empty until it is, ``unknown`` when Redis was silent for too long."""
    _error: dict[str, str] = {}
    _dependents = True
    _before: tuple[Any, ...] = ()

    def perform(self, job: Any, queue: Any, execution: Any) -> bool:
        """Run the job and record its outcome. Raises ``LeaseLost`` or ``SettleFailed``; nothing else but exits."""
        self.outcome, self._error, self._dependents = "", {}, True
        try:
            self._run(job, queue, execution)
        except (LeaseLost, SettleFailed):
            raise
        except BaseException as error:
            if isinstance(error, SystemExit) and self.cold_stop:
                raise
            if not self.outcome:
                self._failed(job, queue, execution)
                return False
            self.log.error("Worker %s: job %s has ended; after that: %s", self.name, job.id, error_line(error))
        return True

    def _run(self, job: Any, queue: Any, execution: Any) -> None:
        try:
            self.prepare_job_execution(job)
            job.started_at = now()
            self._before = saved_by_rq(job)
            timeout = job.timeout or self.queue_class.DEFAULT_TIMEOUT
            with executing(self.current), self.death_penalty_class(timeout, JobTimeoutException, job_id=job.id):
                value = through(self.hooks, job)
            self._finalize_success(job, queue, execution, value)
        except (Postpone, Discard) as word:
            outcome, options = verdict(word)
            self._settle(outcome, **options)

    def _failed(self, job: Any, queue: Any, execution: Any) -> None:
        """Record the failure in RQ's way; where that fails, too, without RQ. It cannot end unrecorded."""
        kind, error, traceback = sys.exc_info()
        self._error = failure(kind, error, traceback, job.function)
        if "reason" in self._error:
            job.retries_left = None
        try:
            self._finalize_failure(job, queue, execution, (kind, error, traceback))
        except (LeaseLost, SettleFailed):
            raise
        except BaseException as problem:
            if isinstance(problem, SystemExit) and self.cold_stop:
                raise
            self.log.error("Worker %s: recording job %s in RQ's way: %s", self.name, job.id, error_line(problem))
        if self.outcome:
            return
        try:
            self._settle("failed", commands=self._plain_failure(queue, execution), **self._error)
        except Exception as problem:
            raise SettleFailed(f"the failure could not be recorded: {error_line(problem)}") from None
        if self._dependents:
            self.release_dependents()

    def _plain_failure(self, queue: Any, execution: Any) -> list[tuple[Any, ...]]:
        commands = plain_failure(
            self.connection,
            execution.job_id,
            queue.name,
            traceback_text(*sys.exc_info()),
            worker_name=self.name,
            execution_id=execution.id,
            execution_started_at=execution.created_at,
        )
        return [("HINCRBY", self.key, "failed_job_count", 1), *commands]

    def handle_exception(self, job: Any, *exc_info: Any) -> None:
        """As RQ's. A handler that raises keeps no failure from being recorded, and the log gets texts it can write."""
        records = PlainRecords()
        self.log.addFilter(records)
        try:
            super().handle_exception(job, *exc_info)
        except Exception as error:
            self.log.error("Worker %s: an exception handler failed: %s", self.name, error_line(error))
        finally:
            self.log.removeFilter(records)

    def handle_execution_ended(self, job: Any, queue: Any, heartbeat_ttl: int) -> None:
        job.ended_at = now()

    def handle_job_success(self, job: Any, queue: Any, started_job_registry: Any, execution: Any) -> None:
        repeats, intervals = job.repeats_left, job.repeat_intervals
        options = {"repeats": int(bool(repeats and repeats > 0))}
        try:
            commands = plain_success(self, job, execution, self._before)
            if commands is not None:
                self._settle("completed", commands=commands, guard=1, **options)
                self.executions.pop(execution.id, None)
                what = f"{job.description} job" if self.log_job_description else f"job {job.id}"
                self.log.info(
                    "Successfully completed %s in %ss on worker %s", what, job.ended_at - job.started_at, self.name
                )
                return
            with recording(self, job, lambda commands: self._replay(job, "completed", commands, guard=1, **options)):
                super().handle_job_success(job, queue, started_job_registry, execution)
        except _HasDependents:
            job.repeats_left, job.repeat_intervals = repeats, intervals
            with _left_to_lease():
                super().handle_job_success(job, queue, started_job_registry, execution)
            self._settle("completed", **options)

    def handle_job_failure(
        self, job: Any, queue: Any, started_job_registry: Any = None, exc_string: str = "", execution: Any = None
    ) -> None:
        stopped = self._stopped_job_id == job.id
        if self.crash_reason and not stopped:
            reason, self.crash_reason = self.crash_reason, ""
            self.executions.pop(execution.id if execution else "", None)
            if not self.outcome:
                self.settle_unseen("crashed", reason=reason)
            return
        outcome = "retried" if job.should_retry and not stopped else "failed"
        options: dict[str, Any] = {**self._error, "stopped": int(stopped)}
        if job.breakers:
            options["breakers"] = job.breakers
        with recording(self, job, lambda commands: self._replay(job, outcome, commands, **options)):
            super().handle_job_failure(job, queue, started_job_registry, short(exc_string), execution)

    def handle_job_retry(self, job: Any, queue: Any, retry: Any, started_job_registry: Any, execution: Any) -> None:
        outcome = "failed" if job.number_of_retries and job.number_of_retries >= retry.max else "retried"
        with recording(self, job, lambda commands: self._replay(job, outcome, commands)):
            super().handle_job_retry(job, queue, retry, started_job_registry, execution)

    def _enqueue_dependents_safely(self, queue: Any, job: Any) -> None:
        """As RQ's; those that it cannot look at now are left to the monitor, or to a worker's maintenance."""
        if self._dependents:
            self.release_dependents()

    def release_dependents(self) -> int:
        """Let RQ look at the dependents of jobs that have ended without success; the number of those jobs."""
        try:
            return sum(dependents.release(getattr(self.connection, "_connection", self.connection), self.serializer))
        except (*SILENT, ResponseError) as error:
            self.log.error("Worker %s: dependents are looked at later: %s", self.name, error)
            return 0

    def _replay(self, job: Any, outcome: str, commands: list[tuple[Any, ...]], **options: Any) -> None:
        if job.delay is not None and outcome == "retried":
            options["delay"] = job.delay
        self._settle(outcome, commands=trimmed(commands, job, self.token), **options)

    def _settle(self, outcome: str, commands: Any = (), **options: Any) -> None:
        """Settle, asking again while Redis does not answer and the lease lasts: the script changes nothing twice."""
        until, pause = time.monotonic() + self.span, 0.1
        connection = getattr(self.connection, "_connection", self.connection)
        if self.current is not None:
            options.setdefault("job", self.current.job_id)
        if used := dependency.told(self.token):
            options["dependencies"] = used
        while True:
            try:
                answer = doors.settle(connection, self.token, outcome, commands=commands, **options)
                break
            except SILENT as error:
                if time.monotonic() > until:
                    raise SettleFailed(f"outcome {outcome!r} could not be recorded: {error}") from error
                self.log.error("Worker %s: cannot settle %s: %s", self.name, self.token[:8], error)
                time.sleep(pause)
                pause = min(pause * 2, 2.0)
        if answer.code == "DEPENDENTS":
            raise _HasDependents
        if answer.code == "LOST":
            dependency.forget(self.token)
            raise LeaseLost("finished after losing its lease; nothing was recorded")
        dependency.forget(self.token)
        self.outcome, self._dependents = answer.outcome, answer.dependents

    def settle_unseen(self, outcome: str, **options: Any) -> None:
        """Settle for a run whose end RQ's code does not see, and look at its dependents as that would."""
        self._dependents = False
        self.settle_or_leave(outcome, **options)
        if self._dependents:
            self.release_dependents()

    def settle_or_leave(self, outcome: str, **options: Any) -> None:
        """Settle for a run that is not ours to report on: a lost lease or a silent Redis is left to the lease."""
        try:
            self._settle(outcome, **options)
        except (LeaseLost, SettleFailed) as error:
            self._left(error)

    def leave(self, job: Any, error: BaseException) -> None:
        """The end of the run could not be recorded: another worker has the job, or its lease will bring it back."""
        self._left(error)
        self.log.warning("Worker %s: job %s: %s", self.name, job.id, error)

    def _left(self, error: BaseException) -> None:
        # its process may have settled it, and died before it could say so
        ended = "unknown" if isinstance(error, SettleFailed) else self._told() or "crashed"
        self.outcome = self.outcome or ended

    def _told(self) -> str:
        """What Redis keeps of how the run in hand was settled; empty if it keeps nothing."""
        if self.current is None:
            return ""
        key = conf.keys.of("rq_job", self.current.job_id)
        with suppress(*SILENT):
            names = JOB_FIELDS["settled"], "status", JOB_FIELDS["token"]
            found: list[Any] = self.connection.hmget(key, names)
            settled, status, token = (value.decode() if value else "" for value in found)
            if settled.startswith(self.token[:8]):
                return str(settled.rpartition(" ")[2])
            if (status, token) == ("finished", self.token):
                return "completed"
        return ""

    def tell_settled(self, job: Any) -> None:
        """The ``settled`` hooks, in the worker itself. A signal meanwhile waits until they are done."""
        if self.hooks:
            self._state = WorkerStatus.BUSY
            try:
                tell(self.hooks, job, self.outcome or "unknown", lambda error: self.cold_stop)
            finally:
                self._state = WorkerStatus.IDLE
