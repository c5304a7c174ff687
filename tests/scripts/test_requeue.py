from __future__ import annotations

import pytest

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


def requeue(doors: Doors, job: str) -> tuple[str, str]:
    outcome, why, _ = run(doors.redis, "requeue", job, "ann", "again", "2025-01-01T00:00:00.000000Z")
    return outcome.decode(), why.decode()


def failed(doors: Doors) -> str:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.settle(token, "failed")
    doors.redis.zadd(K.of("rq_failed", "default"), {job: 9e9})
    doors.redis.expire(K.of("rq_job", job), 100)
    return job


def test_runs_again_under_its_own_id_without_its_old_expiry(doors: Doors) -> None:
    job = failed(doors)
    assert requeue(doors, job) == ("done", "")
    assert doors.redis.ttl(K.of("rq_job", job)) == -1
    assert doors.field(job, "started_at") is None
    assert doors.redis.zscore(K.of("rq_failed", "default"), job) is None
    assert doors.totals()["requeued"] == 1
    assert (doors.start() or ("",))[0] == job
    assert doors.field(job, "qo_attempts") == "2"


def test_requeued_twice_it_stands_on_the_queue_once(doors: Doors) -> None:
    job = failed(doors)
    requeue(doors, job)
    assert requeue(doors, job) == ("skipped", "not failed: it is queued")
    assert doors.queued() == [job]


@pytest.mark.parametrize("status", ["finished", "queued", "canceled"])
def test_only_what_failed(doors: Doors, status: str) -> None:
    job = doors.enqueue(mapping={"status": status})
    assert requeue(doors, job) == ("skipped", f"not failed: it is {status}")


def test_a_quarantined_or_unknown_or_running_job(doors: Doors) -> None:
    job = doors.enqueue()
    run(doors.redis, "quarantine", job, "ann", "why")
    assert requeue(doors, job) == ("skipped", "quarantined: replay it instead")
    assert requeue(doors, "nobody")[0] == "gone"
    running = doors.enqueue()
    doors.start()
    assert requeue(doors, running) == ("skipped", "running")
