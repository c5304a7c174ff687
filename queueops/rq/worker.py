"""RQ's workers behind the doors: they claim, renew and settle; RQ's own code runs the job."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from typing import Any

from redis.exceptions import ResponseError
from rq import worker as rq_worker
from rq.timeouts import HorseMonitorTimeoutException
from rq.utils import now

from queueops.rdb import doors, mending
from queueops.rdb.client import Server
from queueops.rdb.scripts import SILENT, Unreadable
from queueops.rq.claiming import Claiming
from queueops.rq.horse import CAN_WAIT, Slate, alarm, die_with_parent, ended_within, introduce_nothing
from queueops.rq.settling import LeaseLost, SettleFailed


class Controlled(Claiming):
    """What both workers share, on top of one of RQ's. See DESIGN: the doors."""

    last_cleaned_at: Any

    def bootstrap(self, *args: Any, **kwargs: Any) -> None:
        super().bootstrap(*args, **kwargs)
        doors.prepare()
        with suppress(*SILENT):  # else with the first job
            self.publish()

    def _start_scheduler(self, *args: Any, **kwargs: Any) -> None:
        """The claim door moves what is due, in the step that decides; RQ's scheduler beside it would move it twice."""
        self.log.info("Worker %s: scheduled jobs are moved by the claim, RQ's scheduler is not started", self.name)

    def unsubscribe(self) -> None:
        """As RQ's; a subscription that a failover has cut already needs no end."""
        with suppress(*SILENT):
            super().unsubscribe()

    def clean_registries(self) -> None:
        """RQ's clean-up, after ours: a lease that ended while no worker ran brings its job back before RQ calls it
        abandoned.
        """
        mending.mend(self.connection)
        names = tuple(queue.name for queue in self.queues)
        while doors.tick(Server(names[0], self.connection, names))[0]:
            pass
        self.release_dependents()
        super().clean_registries()

    def run_maintenance_tasks(self) -> None:
        """As RQ's; while Redis is silent it is put off: the claim after it waits for Redis. So is one that meets a key
        of RQ that holds something else.
        """
        try:
            super().run_maintenance_tasks()
        except (*SILENT, ResponseError) as error:
            if isinstance(error, Unreadable) or not isinstance(error, SILENT):
                self.last_cleaned_at = now()
            self.log.error("Worker %s: maintenance is put off: %s", self.name, error)

    def check_for_suspension(self, burst: bool) -> None:
        """The claim door tells; asking apart would be a round trip for each job."""

    def set_state(self, state: str, pipeline: Any = None) -> None:
        """Busy and idle are written by the claim door; only the rare states are written from here."""
        self._state = state
        if state not in (rq_worker.WorkerStatus.BUSY, rq_worker.WorkerStatus.IDLE):
            super().set_state(state, pipeline=pipeline)

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """Claim and renew are signs of life; more is written only when both have been silent for a while."""
        if pipeline is not None or time.monotonic() - self.alive_at > 60:
            with suppress(*SILENT):
                super().heartbeat(timeout, pipeline=pipeline)
            self.alive_at = time.monotonic()

    def prepare_execution(self, job: Any) -> Any:
        """The claim door has written the execution already."""
        return self.claimed

    def prepare_job_execution(self, job: Any, remove_from_intermediate_queue: bool = False) -> None:
        """The claim door has written all that RQ writes here."""
        self.procline(f"Processing {job.function or job.id} from {job.origin} since {time.time()}")

    def request_force_stop(self, signum: int, frame: Any) -> None:
        """A second signal: the job stops now and goes back, its attempt not counted."""
        if self._shutdown_requested_date and now() - self._shutdown_requested_date < timedelta(seconds=1):
            return
        self.cold_stop = True
        self.log.warning("Worker %s: cold shut down", self.name)
        if self.horse_pid:
            self.kill_horse(signal.SIGKILL)
            self.wait_for_horse()
        raise SystemExit()

    def perform_job(self, job: Any, queue: Any, execution: Any) -> bool:
        try:
            return self.perform(job, queue, execution)
        except (LeaseLost, SettleFailed) as error:
            self.leave(job, error)
            return False

    def execute_job(self, job: Any, queue: Any) -> None:
        self.outcome = ""
        try:
            super().execute_job(job, queue)
        except SILENT as error:
            self.log.error("Worker %s: job %s is left to its lease: %s", self.name, job.id, error)
        except SystemExit:
            if self.cold_stop and not self.is_horse:
                self.settle_or_leave("put_back", reason="worker stopped")
            raise
        finally:
            if not self.is_horse:
                self.previous, self.claimed = self.token, None
                self.tell_settled(job)


class Worker(Controlled, rq_worker.Worker):
    """Forks a work horse for each job; the parent renews its leases. As ``rq.Worker`` else."""

    simple = False
    stop_early = ""
    """Token of a run that was to be stopped before its horse was there."""

    @cached_property
    def _slate(self) -> Slate:
        return Slate()

    @property  # type: ignore[override]
    def outcome(self) -> str:
        """As in any worker; here the work horse writes it and its parent reads it."""
        return self._slate.read()

    @outcome.setter
    def outcome(self, word: str) -> None:
        self._slate.write(word)

    def request_stop_execution(self, execution_id: str) -> None:
        """As RQ's, from the thread that listens. A run that was just claimed is stopped as soon as it has a horse:
        without one RQ would kill this process's own group.
        """
        if self.horse_pid and execution_id in self.executions:
            super().request_stop_execution(execution_id)
        else:
            self.stop_early = execution_id

    def execute_job(self, job: Any, queue: Any) -> None:
        self.lease_lost = False
        self.crash_reason = ""
        self._stopped_job_id = None
        super().execute_job(job, queue)

    def main_work_horse(self, job: Any, queue: Any) -> None:
        die_with_parent(self.parent_pid)
        introduce_nothing(self.connection)
        super().main_work_horse(job, queue)

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """As RQ's, with the horse's whole group. A horse that has no group of its own yet is killed alone: its group is
        still this worker's.
        """
        try:
            alone = not self.horse_pid or os.getpgid(self.horse_pid) == os.getpgrp()
        except ProcessLookupError:
            return
        if not alone:
            super().kill_horse(sig)
        elif self.horse_pid:
            os.kill(self.horse_pid, sig)

    def fork_work_horse(self, job: Any, queue: Any) -> None:
        self.parent_pid = os.getpid()
        super().fork_work_horse(job, queue)

    def wait_for_horse(self) -> Any:
        """As RQ's, but returns to the monitor in time to renew the lease."""
        if self.stop_early and self.stop_early == self.token and self.horse_pid:
            self.stop_early = ""
            super().request_stop_execution(self.token)
        if CAN_WAIT and self.horse_pid and not self.cold_stop:
            left = self.renew_at - time.monotonic() if not self.lease_lost else 3600
            if not ended_within(self.horse_pid, left):
                raise HorseMonitorTimeoutException()
        return super().wait_for_horse()

    def maintain_heartbeats(self, job: Any, execution: Any) -> None:
        """Renew. A Redis that does not answer is asked again; when the lease is lost or over, the horse is killed."""
        asked = time.monotonic()
        try:
            with alarm(self.lease_until - asked, lambda: self._stop_run(job, "cannot be renewed")):
                held = doors.renew(self.connection, self.token, self.worker_ttl + 60, self.queue_names())
        except SILENT as error:
            self.log.error("Worker %s: cannot renew the lease of job %s: %s", self.name, job.id, error)
            self.renew_at = min(time.monotonic() + min(self.span / 10, 1.0), self.lease_until)
            # a refusal may come before the alarm that was set for the end of the lease
            if time.monotonic() >= self.lease_until:
                self._stop_run(job, "cannot be renewed")
            return
        self.alive_at = time.monotonic()
        # from the time of the question: the answer may have been long on its way
        self.lease_until, self.renew_at = asked + self.span, asked + self.span / 3
        if not held:
            self._stop_run(job, "is lost")

    def _stop_run(self, job: Any, why: str) -> None:
        """Another worker may have the job from now on: this run must not go on."""
        if self.lease_lost:
            return
        self.lease_lost = True
        self.log.warning("Worker %s: lease of job %s %s, stopping its run", self.name, job.id, why)
        self.kill_horse(signal.SIGKILL)

    def monitor_work_horse(self, job: Any, queue: Any, execution: Any) -> None:
        try:
            super().monitor_work_horse(job, queue, execution)
        except (LeaseLost, SettleFailed) as error:
            self.leave(job, error)
        if not self.outcome:
            # RQ took what the job's hash says for its end, or found none
            self.settle_unseen("crashed", reason="its process ended before its end was recorded")

    def _handle_stopped_job(self, job: Any, queue: Any, execution: Any) -> None:
        """As RQ's, if the run had not ended by itself; a callback that leaves does not take the worker with it."""
        if self.outcome:
            return
        try:
            super()._handle_stopped_job(job, queue, execution)
        except SystemExit:
            if self.cold_stop:
                raise
            self.log.error("Worker %s: the stopped callback of job %s called for an exit", self.name, job.id)
            self.handle_job_failure(job, queue, exc_string="Job stopped by user.", execution=execution)

    def handle_work_horse_killed(self, job: Any, retpid: Any, ret_val: Any, rusage: Any) -> None:
        super().handle_work_horse_killed(job, retpid, ret_val, rusage)
        code = None if ret_val is None else os.waitstatus_to_exitcode(ret_val)
        self.crash_reason = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"


class SimpleWorker(Controlled, rq_worker.SimpleWorker):
    """Runs jobs in its own process. Nobody renews: a lease lasts the job's timeout + 60 s."""

    simple = True
