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
from rq.worker.base import BaseWorker

from queueops.middleware import Discard, Fail, Middleware, Postpone
from queueops.rdb import doors
from queueops.rdb.scripts import SILENT
from queueops.rq import dependents
from queueops.rq.execution import CurrentExecution, executing
from queueops.rq.fingerprint import fingerprint
from queueops.rq.finish import plain_success, saved_by_rq
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
    hooks: tuple[Middleware, ...] = ()
    """Middlewares of the job in hand with hooks of their own, outermost first."""
    cold_stop = False
    crash_reason = ""
    lease_lost = False
    outcome = ""
    """What was recorded for the newest run, as far as this process knows."""
    _error: dict[str, str] = {}
    _dependents = True
    _before: tuple[Any, ...] = ()

    def perform(self, job: Any, queue: Any, execution: Any) -> bool:
        """Run the job and record its outcome. Raises ``LeaseLost`` or ``SettleFailed``; nothing else but exits."""
        self.outcome, self._error, self._dependents = "", {}, True
        try:
            self.prepare_job_execution(job)
            job.started_at = now()
            self._before = saved_by_rq(job)
            timeout = job.timeout or self.queue_class.DEFAULT_TIMEOUT
            with executing(self.current), self.death_penalty_class(timeout, JobTimeoutException, job_id=job.id):
                value = self._run(job)
            self._finalize_success(job, queue, execution, value)
        except Postpone as word:
            self._settle("postponed", seconds=word.seconds, reason=str(word))
        except Discard as word:
            self._settle("discarded", reason=str(word.reason))
        except (LeaseLost, SettleFailed):
            raise
        except BaseException as error:
            if isinstance(error, SystemExit) and self.cold_stop:
                raise
            return self._failed(job, queue, execution)
        return True

    def _run(self, job: Any) -> Any:
        """The body inside the ``around`` hooks, the first declared outermost."""
        call = job.perform
        for middleware in reversed(self.hooks):
            call = _wrapped(middleware, job, call)
        return call()

    def _failed(self, job: Any, queue: Any, execution: Any) -> bool:
        kind, error, traceback = sys.exc_info()
        self._error = {
            "fingerprint": fingerprint(kind, job.function, traceback),
            "error": f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace").decode(),
        }
        if isinstance(error, Fail):
            job.retries_left = None
            self._error["reason"] = str(error)
        self._finalize_failure(job, queue, execution, (kind, error, traceback))
        return False

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
            self.settle_unseen("crashed", reason=reason)
            return
        outcome = "retried" if job.should_retry and not stopped else "failed"
        options: dict[str, Any] = {**self._error, "stopped": int(stopped)}
        if job.breakers:
            options["breakers"] = job.breakers
        with recording(self, job, lambda commands: self._replay(job, outcome, commands, **options)):
            super().handle_job_failure(job, queue, started_job_registry, exc_string, execution)

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
            raise LeaseLost("finished after losing its lease; nothing was recorded")
        self.outcome, self._dependents = answer.outcome, answer.dependents

    def settle_unseen(self, outcome: str, **options: Any) -> None:
        """Settle for a run whose end RQ's code does not see, and look at its dependents as that would."""
        self._dependents = False
        self.settle_or_leave(outcome, **options)
        if self._dependents:
            self.release_dependents()

    def settle_or_leave(self, outcome: str, **options: Any) -> None:
        """Settle for a run that is not ours to report on: a lost lease or a silent Redis is left to the lease."""
        with suppress(LeaseLost, SettleFailed):
            self._settle(outcome, **options)

    def tell_settled(self, job: Any) -> None:
        """The ``settled`` hooks, in the worker itself; a work horse's outcome is read from the job."""
        if not self.hooks:
            return
        outcome = self.outcome
        with suppress(Exception):
            outcome = outcome or str(job.get_status().value)
        for middleware in self.hooks:
            try:
                middleware.settled(job, outcome)
            except Exception:
                self.log.exception("the settled hook of %r raised", middleware)


def _wrapped(middleware: Any, job: Any, inner: Any) -> Any:
    return lambda: middleware.around(job, inner)
