"""How a worker gets its next job: the claim door, adoption, and the wait for the bell."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from rq.exceptions import StopRequested
from rq.executions import Execution
from rq.worker import WorkerStatus

from queueops import mirror
from queueops.conf import conf
from queueops.middleware import encode_claims, job_controls
from queueops.middleware.registry import registry
from queueops.rdb import doors
from queueops.rdb.client import Server
from queueops.rdb.scripts import SILENT, Unreadable
from queueops.rq.execution import CurrentExecution
from queueops.rq.failures import error_line
from queueops.rq.hooks import hooks_of
from queueops.rq.job import Job
from queueops.rq.queue import Queue
from queueops.rq.settling import Settling

CONNECTION_WAIT = (0.2, 5.0)
"""First and longest pause in seconds before a Redis that did not answer is asked again."""


STARTED_AT = time.strftime("start-%Y-%m-%dT%H:%M:%SZ", time.gmtime())
"""The release id of a worker whose settings name none."""


class Claiming(Settling):
    """Mixin for RQ's workers: replaces RQ's dequeue."""

    queue_class = Queue
    job_class = Job
    simple = False
    alive_at = 0.0
    renew_at = 0.0
    previous = ""
    """Token of the run before, so that the next claim can end a lease that its process left behind."""
    parked = 0

    def dequeue_job_and_maintain_ttl(self, timeout: int | None, max_idle_time: int | None = None) -> Any:
        """The next job and its queue; None when a burst or ``max_idle_time`` is over. Raises ``StopRequested``."""
        burst = timeout is None
        self.procline("Listening on " + ",".join(self.queue_names()))
        idle_since, pause = time.monotonic(), CONNECTION_WAIT[0]
        while True:
            try:
                if self.should_run_maintenance_tasks:
                    self.run_maintenance_tasks()
                answer = self._ask(idle=not burst)
                pause = CONNECTION_WAIT[0]
                if isinstance(answer, tuple):
                    return answer
                if burst:
                    if self.parked:
                        self.log.info("Worker %s: %d parked jobs are left", self.name, self.parked)
                    return None
                left = max_idle_time - (time.monotonic() - idle_since) if max_idle_time is not None else None
                if left is not None and left <= 0:
                    return None
                self._wait(answer, left)
            except SILENT as error:
                if burst and isinstance(error, Unreadable):
                    raise
                self.log.error("Worker %s: no claim: %s; again in %.1f s", self.name, error, pause)
                self.set_state(WorkerStatus.IDLE)
                if self._stop_requested:
                    # the signal came while it asked; what it may have got comes back when the lease ends
                    raise StopRequested from error
                time.sleep(pause)
                pause = min(pause * 2, CONNECTION_WAIT[1])

    def _wait(self, due: float | None, left: float | None) -> None:
        """Until the bell rings, time brings something, or plain RQ's jobs are to be looked for."""
        seconds = min(part for part in (conf.POLL, due, left) if part is not None)
        doors.wait_for_bell(self.connection, conf.keys.of("bell", self.name), seconds)

    def _ask(self, idle: bool) -> tuple[Any, Any] | float | None:
        """One turn: a job with its queue, or how long there is nothing (None: until something happens)."""
        while True:
            # a signal between the script and us must not tear its answer out of our hands
            self._state = WorkerStatus.BUSY
            self.token = self.token if self._unanswered else uuid4().hex
            self._unanswered = True
            asked = time.monotonic()
            answer = doors.claim(
                self.connection,
                self.name,
                self.token,
                [queue.name for queue in self._ordered_queues],
                previous=self.previous,
                span=conf.LEASE,
                simple=self.simple,
                idle=idle,
                worker_ttl=self.worker_ttl + 60,
            )
            self.previous = ""
            self.alive_at = time.monotonic()
            if isinstance(answer, doors.Claimed):
                self.slow_claim = self.alive_at - asked > conf.LEASE / 10
                # if Redis falls silent before the job is ready, the same token asks for it again
                found = self._accepted(answer)
                self._unanswered = False
                if found is not None:
                    return found
                continue
            self._unanswered = False
            self.set_state(WorkerStatus.IDLE)
            if self._stop_requested:
                raise StopRequested
            if isinstance(answer, doors.Empty):
                if answer.more or (answer.dependents and self.release_dependents()):
                    continue
                self.parked = answer.parked
                return answer.wait
            if answer.why == "MIRROR_MISSING":
                names = tuple(queue.name for queue in self.queues)
                mirror.rebuild(Server(names[0], self.connection, names))
                continue
            if not idle:
                self.log.info("Worker %s: %s in burst mode, exiting", self.name, answer.why.lower())
                raise StopRequested
            return None

    _unanswered = False
    _published = -1

    def _accepted(self, answer: doors.Claimed) -> tuple[Any, Any] | None:
        """The job of a claim, ready to run; None if it is not to run after all."""
        queue = next(q for q in self.queues if q.name == answer.queue)
        if self._stop_requested:
            self.settle_or_leave("put_back", job=answer.job_id, reason="worker stopped")
            raise StopRequested
        job = self.job_class(answer.job_id, connection=self.connection, serializer=self.serializer)
        try:
            job.restore(answer.fields)
            job.origin = answer.queue
        except Exception as error:
            self._set_aside(answer.job_id, "undecodable", f"cannot decode: {error_line(error)}")
            return None
        if self.simple and job.timeout == -1:
            why = "has no timeout: a simple worker could not give its lease an end; run it in a forking worker"
            self._set_aside(job.id, "timeout", why)
            return None
        if answer.adopt and not self._adopt(job, answer):
            return None
        self.hooks = hooks_of(job)
        self.publish()
        self.span = min([conf.LEASE, *self._leases(job)])
        self.lease_until = self.alive_at + self.span
        # how much of the lease is left after a slow answer, the first renewal tells
        self.renew_at = self.alive_at if self.slow_claim else self.alive_at + self.span / 3
        execution = Execution(self.token, job.id, self.connection, self.name)
        execution._job = job
        self.executions[execution.id] = execution
        self.claimed = execution
        self.current = CurrentExecution(self.token, job.id, job.attempt, answer.queue, self.name)
        self.reorder_queues(reference_queue=queue)
        self.log.info("Worker %s: %s: %s (%s)", self.name, answer.queue, job.function or "?", job.id)
        return job, queue

    def _set_aside(self, job_id: str, kind: str, reason: str) -> None:
        """Quarantine the job in hand instead of running it."""
        self.log.error("Worker %s: job %s goes to quarantine: %s", self.name, job_id, reason)
        self.settle_unseen("failed", quarantine=1, kind=kind, reason=reason)

    def publish(self) -> None:
        """Publish the controls declared so far, when there are more than at the last time."""
        if registry.version != self._published:
            version = registry.version
            doors.publish(self.connection, conf.RELEASE or STARTED_AT, registry.definitions())
            self._published = version

    def _adopt(self, job: Job, answer: doors.Claimed) -> bool:
        """Give a job of plain RQ its claims, as the code in this process declares them; False if it may not run."""
        try:
            name, owner = str(job.func_name), job.instance
            method = None if owner is None else getattr(owner, name)
            controls = job_controls(name, method, tuple(job.args), job.kwargs, answer.queue)
        except Exception as error:
            # without its claims it would run uncontrolled
            self._set_aside(job.id, "claims", f"its claims cannot be made: {error_line(error)}")
            return False
        if controls is not None:
            job.set_controls(controls)
        else:
            # the code is not here: the run fails by itself, and says so
            job.function, job.claims_text, job.policy_text = name, encode_claims(()), json.dumps(conf.QUARANTINE)
        code = doors.adopt(
            self.connection,
            self.token,
            job.claims_text or "[]",
            job.function,
            job.policy_text,
            conf.LEASE,
            self.simple,
            job.uniques_text,
            job.retry_fields(),
        )
        return code == "TAKEN"

    @staticmethod
    def _leases(job: Job) -> Iterable[float]:
        return [claim["l"] / doors.MICRO for claim in json.loads(job.claims_text or "[]") if claim.get("l")]
