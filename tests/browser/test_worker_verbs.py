"""Quiet, unquiet, stop, kill the job: told to a real worker from the page of workers."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from django_rq import get_queue
from rq.job import JobStatus

from queueops.rdb.client import default_server
from queueops.telemetry.snapshot import dumps, snapshot
from tests.browser.hands import confirm, press, told
from tests.browser.test_browser import Open
from tests.operations.test_workers import Start, start  # noqa: F401  (a real worker)
from tests.rq import jobs
from tests.scripts.kit import K
from tests.support import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def queue(redis: Any, transactional_db: None) -> Any:
    return get_queue("default")


def tell(redis: Any) -> None:
    redis.set(K.static("snapshot"), dumps(snapshot(default_server())), px=60_000)


def test_quiet_unquiet_and_stop(open_page: Open, queue: Any, redis: Any, start: Start) -> None:  # noqa: F811
    process: subprocess.Popen[bytes] = start("one")
    tell(redis)
    page = open_page("/workers/")
    press(page, "Quiet…", "one", exact=True)
    confirm(page, "worker", "Quiet", "starts nothing new")
    page.get_by_text("quiet, by user0").wait_for()
    job = queue.enqueue(pow, 2, 3)
    press(page, "Unquiet…", "one", exact=True)
    confirm(page, "worker", "Unquiet", "starts jobs again")
    eventually(lambda: job.get_status(refresh=True) == JobStatus.FINISHED, what="it runs what waited")
    press(page, "Stop…", "one", exact=True)
    confirm(page, "worker", "Stop", "was told to end")
    assert process.wait(30) == 0


def test_the_job_that_a_worker_runs_is_killed(open_page: Open, queue: Any, redis: Any, start: Start) -> None:  # noqa: F811
    start("one")
    job = queue.enqueue(jobs.wait_for_ever)
    eventually(lambda: redis.hexists(K.static("running"), job.id), what="it runs")
    tell(redis)
    page = open_page("/workers/")
    press(page, "Kill job…", "one")
    confirm(page, "worker", "Kill job", "was told to kill the job")
    eventually(lambda: job.get_status(refresh=True) == JobStatus.STOPPED, what="it is stopped")
    page.goto(f"/jobs/{job.id}/")
    press(page, "Requeue…")
    confirm(page, "one", "Requeue", "Requeued: 1.")
    eventually(lambda: redis.hexists(K.static("running"), job.id), what="it runs again")
    page.reload()
    press(page, "Stop…")
    confirm(page, "one", "Stop", "was told to kill the job")
    told(page, "not retried")
