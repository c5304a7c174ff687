"""The verbs on real RQ jobs and real workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django_rq import get_queue
from rq.job import JobStatus

from queueops.operations import pause, quarantine, replay, requeue, resume
from queueops.rq import Job, SimpleWorker
from tests.rq import jobs
from tests.scripts.kit import K
from tests.support import ROOT, eventually


@pytest.fixture
def queue(redis: Any, transactional_db: None) -> Any:
    jobs.CALLS.clear()
    return get_queue("default")


def work(queue: Any) -> None:
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")


def test_c28_a_job_that_fails_finally_comes_back_with_its_count(queue: Any, who: dict[str, str]) -> None:
    job = queue.enqueue(jobs.boom)
    for _ in range(2):
        work(queue)
        assert requeue(job.id, **who).done == 1
    work(queue)
    assert _aside(queue, job.id)
    new = replay(job.id, **who).outcomes[0][2]
    work(queue)
    assert _aside(queue, new), "it failed again: straight back, not three more times"
    assert queue.connection.hget(K.of("rq_job", new), "qo_replays") == b"1"
    newer = replay(new, **who).outcomes[0][2]
    assert queue.connection.hget(K.of("rq_job", newer), "qo_replays") == b"2"


def _aside(queue: Any, job_id: str) -> bool:
    return queue.connection.zscore(K.of("quarantined", "default"), job_id) is not None


def test_a_replayed_job_runs_its_dependents(queue: Any, who: dict[str, str]) -> None:
    job = queue.enqueue(jobs.add, 1, 2, meta={"tags": ["a"]}, job_timeout=77)
    child = queue.enqueue(jobs.add, 3, 4, depends_on=job)
    assert quarantine(job.id, **who).done == 1
    work(queue)
    assert jobs.CALLS == []
    new = replay(job.id, **who).outcomes[0][2]
    work(queue)
    assert jobs.CALLS == [(1, 2), (3, 4)]
    assert child.get_status(refresh=True) == JobStatus.FINISHED
    fetched = Job.fetch(new, connection=queue.connection)
    assert (fetched.meta, fetched.timeout, fetched.return_value()) == ({"tags": ["a"]}, 77, 3)


def test_a_quarantined_dependent_does_not_run_when_its_parent_ends(queue: Any, who: dict[str, str]) -> None:
    parent = queue.enqueue(jobs.add, 1, 2)
    child = queue.enqueue(jobs.add, 3, 4, depends_on=parent)
    assert quarantine(child.id, **who).done == 1
    work(queue)
    assert jobs.CALLS == [(1, 2)]
    replay(child.id, **who)
    work(queue)
    assert jobs.CALLS == [(1, 2), (3, 4)]


def test_c25_an_id_used_again_after_quarantine_is_one_job(queue: Any, who: dict[str, str]) -> None:
    queue.enqueue(jobs.add, 1, 1, job_id="same")
    quarantine("same", **who)
    queue.enqueue(jobs.add, 2, 2, job_id="same")
    assert not _aside(queue, "same")
    work(queue)
    assert jobs.CALLS == [(2, 2)]


@pytest.fixture
def workers(queue: Any, child_env: dict[str, str]) -> Iterator[Any]:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "manage.py", "queueops", "worker", "default", "low", "--class", "simple"]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=child_env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def test_c38_idle_workers_killed_workers_and_new_ones_respect_a_pause(
    queue: Any, workers: Any, who: dict[str, str]
) -> None:
    connection, low = queue.connection, get_queue("low")
    first = workers()
    eventually(lambda: connection.zcard(K.of("idle", "default")), what="a worker waits for its bell")
    pause("queue", "default", **who)
    held = [queue.enqueue(jobs.add, n, n) for n in range(5)]
    # the same worker serves its other queue: it was awake, and had the chance
    seen = low.enqueue(jobs.add, 0, 0)
    eventually(lambda: seen.get_status(refresh=True) == JobStatus.FINISHED, what="the worker serves low")
    os.killpg(first.pid, signal.SIGKILL)
    first.wait(10)
    workers()
    other = low.enqueue(jobs.add, 9, 9)
    eventually(lambda: other.get_status(refresh=True) == JobStatus.FINISHED, what="a new worker serves low")
    assert connection.hget(K.of("total", "default"), "started") is None
    assert len(queue) == len(held)
    resume("queue", "default", **who)
    eventually(lambda: all(job.get_status(refresh=True) == JobStatus.FINISHED for job in held), what="all run")
    assert connection.hget(K.of("total", "default"), "started") == b"5"
