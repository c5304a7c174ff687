"""Keys of ours, and of RQ, that hold something else: work goes on, or a clear error names the key."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import redis as redis_py
from rq import Retry
from rq.exceptions import StopRequested
from rq.job import JobStatus
from rq.utils import now

from queueops.rdb.keys import PER_INSTANCE, PER_QUEUE, STATIC, TYPES
from queueops.rq import Job, SimpleWorker
from tests.rq import jobs
from tests.scripts.kit import K
from tests.support import ROOT, eventually

Work = Callable[..., None]
OURS = [name for name in STATIC if name in TYPES and not name.startswith("rq_") and name != "clock"]
SHELF = "L:tests.rq.jobs.locked\x1f1"


def plant(redis: Any, key: str, kind: str = "string") -> None:
    redis.delete(key)
    if kind == "string":
        redis.set(key, "planted")
    else:
        redis.rpush(key, "planted")


def other(name: str) -> list[str]:
    return [kind for kind in ("string", "list") if kind != TYPES[name]]


def all_run(queue: Any, work: Work, key: str, kind: str) -> None:
    """Jobs are enqueued before and after the key went wrong; each is run once."""
    redis = queue.connection
    before = [
        queue.enqueue(jobs.locked, 1),
        queue.enqueue(jobs.locked, 1),
        queue.enqueue(jobs.boom, retry=Retry(max=1)),
    ]
    work()
    assert jobs.CALLS == [1, 1]
    waiting = queue.enqueue(jobs.locked, 1)
    plant(redis, key, kind)
    after = [queue.enqueue(jobs.locked, 1), queue.enqueue(jobs.add, 1, 2), queue.enqueue(jobs.boom)]
    work()
    work()
    assert jobs.CALLS == [1, 1, 1, 1, (1, 2)]
    for job in (*before, waiting, *after):
        status = Job.fetch(job.id, connection=redis).get_status()
        assert status == (JobStatus.FAILED if "boom" in job.func_name else JobStatus.FINISHED)
    assert not redis.hlen(K.static("running")) and not redis.zcard(K.static("lease_ends"))


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in OURS for kind in other(name)])
def test_a_key_of_ours(queue: Any, work: Work, name: str, kind: str) -> None:
    all_run(queue, work, K.static(name), kind)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in PER_QUEUE for kind in other(name)])
def test_a_key_of_a_queue(queue: Any, work: Work, name: str, kind: str) -> None:
    all_run(queue, work, K.of(name, "default"), kind)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in PER_INSTANCE for kind in other(name)])
def test_a_key_of_an_instance(queue: Any, work: Work, name: str, kind: str) -> None:
    all_run(queue, work, K.of(name, SHELF), kind)


def test_a_worker_lives_on(queue: Any, child_env: dict[str, str]) -> None:
    """All its keys go wrong while it waits for its bell; then a queue of RQ's, which only a person can repair."""
    redis = queue.connection
    command = [sys.executable, "manage.py", "queueops", "worker", "high", "default", "--name", "one"]
    worker = subprocess.Popen(command, cwd=ROOT, env=child_env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(2):
            eventually(lambda: redis.zscore(K.of("idle", "default"), "one"), what="it waits for its bell")
            for key in (*map(K.static, OURS), *(K.of(name, "default") for name in PER_QUEUE), K.of("bell", "one")):
                plant(redis, key)
            job = queue.enqueue(jobs.locked, 1)
            eventually(lambda job=job: job.get_status(refresh=True) == JobStatus.FINISHED, what="it went on")  # type: ignore[misc]
        plant(redis, K.of("rq_queue", "high"))
        for n in range(2):
            job = queue.enqueue(jobs.locked, n)
            eventually(lambda job=job: job.get_status(refresh=True) == JobStatus.FINISHED, what="others go on")  # type: ignore[misc]
        assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    finally:
        worker.kill()
        worker.wait(10)


def test_a_burst_ends_with_an_error_that_names_the_key(
    queue: Any, work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    plant(queue.connection, K.of("rq_scheduled", "default"))
    work()
    assert "rq:scheduled:default holds a string, not a zset; it is RQ's: rename or delete it" in caplog.text


def test_maintenance_of_rq_that_fails_is_put_off(queue: Any, work: Work, caplog: pytest.LogCaptureFixture) -> None:
    plant(queue.connection, K.of("rq_failed", "default"))
    queue.enqueue(jobs.add, 1, 2)
    work()
    assert jobs.CALLS == [(1, 2)] and "maintenance is put off" in caplog.text


def test_a_worker_that_is_told_to_stop_while_redis_is_silent_stops(queue: Any, own_server: Any) -> None:
    """The signal comes while it asks; nobody will ever answer."""
    with redis_py.Redis.from_url(own_server.url) as connection:
        worker = SimpleWorker([queue], connection=connection)
        own_server.kill()
        worker.last_cleaned_at = now()
        worker._stop_requested = True
        with pytest.raises(StopRequested):
            worker.dequeue_job_and_maintain_ttl(1)
