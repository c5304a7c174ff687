"""quiet, unquiet, stop: told to real workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django_rq import get_queue
from rq.job import JobStatus

from queueops.models import Intervention
from queueops.operations import OperationError, UnknownName, quiet, stop_job, stop_worker, unquiet
from queueops.rdb.scripts import run
from tests.rq import jobs
from tests.scripts.kit import Doors, K
from tests.support import ROOT, eventually

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def queue(redis: Any, transactional_db: None) -> Any:
    return get_queue("default")


@pytest.fixture
def start(queue: Any, child_env: dict[str, str]) -> Iterator[Start]:
    """Start a worker called ``name``."""
    started: list[subprocess.Popen[bytes]] = []

    def go(name: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "manage.py", "queueops", "worker", "default", "--name", name, *options]
        out = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=ROOT, env=child_env, stdout=out, stderr=out, start_new_session=True)
        started.append(process)
        eventually(lambda: queue.connection.zscore(K.of("idle", "default"), name), what=f"{name} waits for its bell")
        return process

    yield go
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def totals(queue: Any) -> dict[str, int]:
    return {k.decode(): int(v) for k, v in queue.connection.hgetall(K.of("total", "default")).items()}


def test_a_quiet_worker_starts_nothing_and_leaves_it_to_others(queue: Any, start: Start, who: dict[str, str]) -> None:
    start("one")
    assert quiet("one", **who).job == ""
    eventually(lambda: not queue.connection.zscore(K.of("idle", "default"), "one"), what="it no longer waits")
    job = queue.enqueue(pow, 2, 3)
    start("two")
    eventually(lambda: job.get_status(refresh=True) == JobStatus.FINISHED, what="the other one runs it")
    assert [f[b"w"] for _, f in queue.connection.xrange(K.static("log")) if f[b"e"] == b"job.started"] == [b"two"]
    with pytest.raises(OperationError, match="quiet already"):
        quiet("one", **who)
    unquiet("one", **who)
    eventually(lambda: queue.connection.zscore(K.of("idle", "default"), "one"), what="it waits again")
    with pytest.raises(OperationError, match="not quiet"):
        unquiet("one", **who)
    assert list(Intervention.objects.order_by("pk").values_list("verb", "state")) == [
        ("quiet", "done"), ("quiet", "failed"), ("unquiet", "done"), ("unquiet", "failed"),
    ]  # fmt: skip


def test_a_stopped_job_fails_as_stopped_and_is_not_retried(queue: Any, start: Start, who: dict[str, str]) -> None:
    start("one")
    job = queue.enqueue(jobs.wait_for_ever, retry=jobs.Retry(max=3))
    eventually(lambda: queue.connection.hexists(K.static("running"), job.id), what="it runs")
    assert stop_job(job.id, **who).worker == "one"
    eventually(lambda: job.get_status(refresh=True) == JobStatus.STOPPED, what="it is stopped")
    eventually(lambda: not queue.connection.hexists(K.static("running"), job.id), what="its lease is gone")
    assert {k: totals(queue).get(k, 0) for k in ("started", "failed", "retried", "crashed", "quarantined")} == {
        "started": 1, "failed": 1, "retried": 0, "crashed": 0, "quarantined": 0,
    }  # fmt: skip
    with pytest.raises(OperationError, match="not running"):
        stop_job(job.id, **who)


def test_a_stopped_worker_finishes_its_job_first(queue: Any, start: Start, who: dict[str, str]) -> None:
    process = start("one")
    job = queue.enqueue(jobs.wait_for_key, "go")
    eventually(lambda: queue.connection.hexists(K.static("running"), job.id), what="it runs")
    assert stop_worker("one", **who).job == job.id
    eventually(lambda: queue.connection.hget(K.of("rq_worker", "one"), "shutdown_requested_date"), what="it was told")
    queue.connection.rpush("go", 1)
    assert process.wait(30) == 0
    assert job.get_status(refresh=True) == JobStatus.FINISHED


def test_a_job_in_a_simple_worker_is_not_killed(queue: Any, start: Start, who: dict[str, str]) -> None:
    start("one", "--class", "simple")
    job = queue.enqueue(jobs.wait_for_key, "go")
    eventually(lambda: queue.connection.hexists(K.static("running"), job.id), what="it runs")
    with pytest.raises(OperationError, match="in its own process"):
        stop_job(job.id, **who)
    queue.connection.rpush("go", 1)
    eventually(lambda: job.get_status(refresh=True) == JobStatus.FINISHED, what="it ends by itself")


def test_a_worker_that_is_gone_is_said_to_be_gone(doors: Doors, who: dict[str, str]) -> None:
    job = doors.enqueue()
    doors.start(worker="ghost")
    for verb in (lambda: stop_worker("ghost", **who), lambda: stop_job(job, **who)):
        with pytest.raises(OperationError, match="does not listen"):
            verb()
    assert set(Intervention.objects.values_list("state", flat=True)) == {"failed"}


def test_an_unknown_worker_and_a_plain_one(doors: Doors, who: dict[str, str]) -> None:
    doors.claim(worker="host.12")
    with pytest.raises(UnknownName, match=r"Close: 'host\.12'"):
        quiet("host.13", **who)
    doors.redis.hset(K.of("rq_worker", "plain"), mapping={"state": "idle"})
    with pytest.raises(OperationError, match="plain RQ worker"):
        stop_worker("plain", **who)


def test_quiet_says_who_and_why(doors: Doors) -> None:
    doors.claim(worker="w1")
    assert run(doors.redis, "quiet", "nobody", 1, "ann", "why") == -1
    assert [run(doors.redis, "quiet", "w1", on, "ann", "why") for on in (1, 1, 0, 0)] == [1, 0, 1, 0]
    run(doors.redis, "quiet", "w1", 1, "ann", "why")
    found = json.loads(doors.redis.hget(K.static("quiet"), "w1"))
    assert (found["by"], found["reason"]) == ("ann", "why") and int(found["at"]) > 1e15
    assert doors.log()[-3:] == ["worker.quieted", "worker.unquieted", "worker.quieted"]
