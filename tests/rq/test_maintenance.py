"""RQ's own maintenance beside ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import rq
from rq import Retry
from rq.job import JobStatus
from rq.registry import StartedJobRegistry

from tests.rq import jobs
from tests.scripts.kit import K, eventually


@pytest.mark.parametrize("retry", [None, Retry(max=2)])
def test_rqs_clean_up_of_a_job_whose_lease_nobody_ended(
    queue: Any, work: Callable[..., None], totals: Callable[[], dict[str, int]], doors: Any, retry: Any
) -> None:
    """No worker and no monitor of ours ran for longer than the lease and RQ's minute: RQ called the job abandoned."""
    job = queue.enqueue(jobs.add, 1, 2, retry=retry)
    doors.start(span=0.05)
    plain = rq.Queue("default", connection=queue.connection)
    eventually(lambda: queue.connection.zcount(K.static("lease_ends"), "-inf", _micros(queue.connection)))
    StartedJobRegistry(queue=plain).cleanup(timestamp=time.time() + 1000)
    assert job.get_status(refresh=True) == (JobStatus.QUEUED if retry else JobStatus.FAILED)
    work()
    found = totals()
    if retry:
        assert jobs.CALLS == [(1, 2)] and found["completed"] == 1 and found["started"] == 2 and found["retried"] == 1
    else:
        assert jobs.CALLS == [] and found == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}
    assert not queue.connection.hlen(K.static("leases")) and not queue.connection.hlen(K.static("running"))


def _micros(connection: Any) -> int:
    seconds, micros = connection.time()
    return int(seconds * 1_000_000 + micros)
