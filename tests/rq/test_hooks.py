"""The ``settled`` hook gets the recorded outcome, once for each run, however it ended, in either worker."""

from __future__ import annotations

import logging
import os
import signal
import threading
from datetime import timedelta
from typing import Any

import pytest
from redis.exceptions import ConnectionError
from rq import Callback, Repeat, Retry, get_current_job
from rq.command import send_stop_job_command
from rq.job import JobStatus

from queueops.rdb import doors
from queueops.rq import SimpleWorker, Worker
from tests.rq import hook_jobs
from tests.rq import jobs as plain_jobs
from tests.rq.hook_jobs import HEARD
from tests.scripts.kit import K
from tests.support import eventually

both = pytest.mark.parametrize("fork", [False, True], ids=["simple", "forking"])


@pytest.fixture(autouse=True)
def _heard() -> None:
    HEARD.clear()


def outcomes(job: Any) -> list[str]:
    return [outcome for job_id, outcome in HEARD if job_id == job.id]


CASES: list[tuple[str, Any, str, dict[str, Any], list[str]]] = [
    ("completed", hook_jobs.ends, "well", {}, ["completed"]),
    ("no result", hook_jobs.ends, "well", {"result_ttl": 0}, ["completed"]),
    ("deleted", hook_jobs.ends, "delete", {}, ["completed"]),
    ("failed", hook_jobs.ends, "fail", {}, ["failed"]),
    ("exit", hook_jobs.ends, "exit", {}, ["failed"]),
    ("final", hook_jobs.ends, "final", {"retry": Retry(max=3)}, ["failed"]),
    ("retried", hook_jobs.ends, "fail", {"retry": Retry(max=1)}, ["retried", "failed"]),
    ("retried later", hook_jobs.ends, "fail", {"retry": Retry(max=1, interval=60)}, ["retried"]),
    ("returned retry", hook_jobs.ends, "retry", {}, ["retried", "failed"]),
    ("retries end in quarantine", hook_jobs.ends, "fail", {"retry": Retry(max=2)}, ["retried"] * 2 + ["quarantined"]),
    ("repeated", hook_jobs.ends, "well", {"repeat": Repeat(times=2)}, ["completed"] * 3),
    ("discarded", hook_jobs.ends, "discard", {}, ["discarded"]),
    ("postponed", hook_jobs.ends, "postpone", {}, ["postponed"]),
    ("quarantined", hook_jobs.ends_in_quarantine, "fail", {}, ["quarantined"]),
    ("bad callback", hook_jobs.ends, "well", {"on_success": Callback(hook_jobs.never_reached)}, ["failed"]),
]


@both
@pytest.mark.parametrize(("function", "how", "options", "told"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_each_end_is_told_once(
    queue: Any, work: Any, function: Any, how: str, options: dict[str, Any], told: list[str], fork: bool
) -> None:
    job = queue.enqueue(function, how, **options)
    work(fork=fork)
    assert outcomes(job) == told
    assert queue.connection.llen("tests:around") == len(told)


@both
def test_an_around_hook_decides(queue: Any, work: Any, fork: bool) -> None:
    job = queue.enqueue(hook_jobs.never_reached)
    work(fork=fork)
    assert outcomes(job) == ["discarded"]


@pytest.mark.parametrize("how", ["die", "leave"])
def test_crashes(queue: Any, work: Any, how: str) -> None:
    job, poison = queue.enqueue(hook_jobs.ends, how), queue.enqueue(hook_jobs.ends_in_quarantine, how)
    after = [queue.enqueue(hook_jobs.ends, "well"), queue.enqueue(hook_jobs.ends, "fail")]
    work(fork=True)
    assert outcomes(job) == ["crashed", "quarantined"] and outcomes(poison) == ["quarantined"]
    assert [outcomes(each) for each in after] == [["completed"], ["failed"]]  # what a crash left behind is not told


@both
def test_a_job_with_dependents(queue: Any, work: Any, fork: bool) -> None:
    parent = queue.enqueue(hook_jobs.ends, "well")
    child = queue.enqueue(hook_jobs.ends, "well", depends_on=parent)
    work(fork=fork)
    assert outcomes(parent) == outcomes(child) == ["completed"]


@both
def test_a_hook_that_raises_is_logged_and_changes_nothing(
    queue: Any, work: Any, totals: Any, fork: bool, caplog: pytest.LogCaptureFixture
) -> None:
    made = [queue.enqueue(hook_jobs.ends_beside_a_broken_hook, how) for how in ("well", "fail", "postpone")]
    work(fork=fork)
    assert [outcomes(job) for job in made] == [["completed"], ["failed"], ["postponed"]]
    assert totals() == {
        "accepted": 3, "started": 3, "completed": 1, "failed_attempt": 1, "failed": 1, "put_back": 1,
    }  # fmt: skip
    told = [record.getMessage() for record in caplog.records if "settled hook" in record.getMessage()]
    assert len(told) == 3 and all(text.encode() and "tests.rq.hook_jobs.Broken" in text for text in told)


def test_a_lost_lease_is_a_crash(queue: Any, monkeypatch: Any) -> None:
    """Somebody ends the lease while the job runs: what this run found out counts nothing."""
    job = queue.enqueue(hook_jobs.ends, "well")
    worker = SimpleWorker([queue], connection=queue.connection)

    def lapse(how: str) -> None:
        doors.settle(queue.connection, worker.token, "crashed")
        monkeypatch.undo()

    monkeypatch.setattr(hook_jobs, "_end", lapse)
    worker.work(burst=True, logging_level="ERROR")
    assert outcomes(job) == ["crashed", "completed"]


@pytest.mark.parametrize("how", ["well", "fail", "postpone", "discard"])
def test_a_horse_that_dies_right_after_its_end_was_recorded(queue: Any, monkeypatch: Any, how: str) -> None:
    """Between the script and the word for its parent: Redis knows."""
    job = queue.enqueue(hook_jobs.ends, how)
    worker = Worker([queue], connection=queue.connection)
    settle = doors.settle

    def and_die(*args: Any, **options: Any) -> Any:
        answer = settle(*args, **options)
        if worker.is_horse:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    monkeypatch.setattr(doors, "settle", and_die)
    worker.work(burst=True, logging_level="CRITICAL")
    expected = {"well": "completed", "fail": "failed", "postpone": "postponed", "discard": "discarded"}[how]
    assert outcomes(job) == [expected]


def test_a_horse_that_leaves_without_recording_is_settled_at_once(queue: Any, totals: Any, monkeypatch: Any) -> None:
    """RQ believes the job's status, which the job itself has set."""
    job = queue.enqueue(hook_jobs.ends, "pretend")
    worker = Worker([queue], connection=queue.connection)

    def pretend(how: str) -> None:
        get_current_job().set_status(JobStatus.FINISHED)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(hook_jobs, "_end", pretend)
    worker.work(burst=True, logging_level="CRITICAL", max_jobs=1)
    assert outcomes(job) == ["crashed"] and totals()["crashed"] == 1
    assert not queue.connection.hlen(K.static("leases"))


def test_a_stopped_job(queue: Any) -> None:
    job = queue.enqueue(hook_jobs.ends, "stop", on_stopped=Callback(hook_jobs.ends))  # the callback fails
    worker = Worker([queue], connection=queue.connection)

    def stop() -> None:
        queue.connection.blpop(["tests:running"], timeout=60)
        send_stop_job_command(queue.connection, job.id)

    thread = threading.Thread(target=stop)
    thread.start()
    worker.work(burst=True, logging_level="CRITICAL")
    thread.join()
    assert outcomes(job) == ["failed"]


@both
def test_a_worker_that_is_told_to_stop_twice(queue: Any, totals: Any, fork: bool) -> None:
    job = queue.enqueue(hook_jobs.ends, "stop")
    worker = (Worker if fork else SimpleWorker)([queue], connection=queue.connection)

    def stop() -> None:
        queue.connection.blpop(["tests:running"], timeout=60)
        os.kill(os.getpid(), signal.SIGTERM)
        eventually(lambda: worker._stop_requested, what="the first signal came")
        worker._shutdown_requested_date -= timedelta(seconds=2)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(SystemExit):
        worker.work(burst=True, logging_level="CRITICAL")
    thread.join()
    assert outcomes(job) == ["put_back"]
    assert totals() == {"accepted": 1, "started": 1, "put_back": 1}


@both
def test_a_stop_that_comes_during_a_hook_waits_for_it_and_is_not_lost(queue: Any, work: Any, fork: bool) -> None:
    first, second = queue.enqueue(hook_jobs.stops_its_worker), queue.enqueue(hook_jobs.ends, "well")
    work(fork=fork)
    assert outcomes(first) == ["completed"] and outcomes(second) == []
    assert second.get_status() == JobStatus.QUEUED


def test_a_silent_redis_is_told_as_unknown(queue: Any, monkeypatch: Any) -> None:
    job = queue.enqueue(hook_jobs.ends, "well")
    worker = SimpleWorker([queue], connection=queue.connection)
    settle = doors.settle

    def silent(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(doors, "settle", settle)
        raise ConnectionError("silent")

    def until_the_lease_is_over(how: str) -> None:
        worker.span = -1

    monkeypatch.setattr(hook_jobs, "_end", until_the_lease_is_over)
    monkeypatch.setattr(doors, "settle", silent)
    worker.work(burst=True, logging_level="CRITICAL", max_jobs=1)
    assert outcomes(job) == ["unknown"]


@both
def test_a_job_without_hooks_of_its_own(queue: Any, work: Any, fork: bool, caplog: pytest.LogCaptureFixture) -> None:
    queue.enqueue(plain_jobs.add, 1, 2)
    with caplog.at_level(logging.ERROR):
        work(fork=fork)
    assert HEARD == [] and ([] if fork else [(1, 2)]) == plain_jobs.CALLS and not caplog.records
