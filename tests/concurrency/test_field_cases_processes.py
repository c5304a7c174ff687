"""FIELD_CASES.md C01, C15, C18, C19, C28, C38: real processes, most of which die; leases of one second."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from rq import Retry

from queueops.rdb.scripts import run
from tests.chaos import judge
from tests.chaos.harness import Town
from tests.concurrency import jobs
from tests.support import eventually

SLACK = 10.0
"""Seconds on a busy machine; what is tested is that the wait is not a job's longest time."""


def started(town: Town, job: Any) -> int:
    """When it first started (ns)."""
    return int(eventually(lambda: town.lines("start", job.id), 20, f"{job.id} has started")[0].at)


@pytest.mark.parametrize("function", [jobs.hold, jobs.hold_slot])
def test_c01_worker_and_horse_killed_while_holding(town: Town, function: Any) -> None:
    args = ("a",) if function is jobs.hold else ()
    worker = town.spawn("fork")
    first = town.enqueue(function, *args, 60)
    started(town, first)
    time.sleep(jobs.LEASE)  # renewed at least once
    [horse] = town.horses()
    for pid in (worker.pid, horse):  # the other way round the worker might still settle
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    killed = time.monotonic_ns()
    first.delete()  # so that only its lock is left
    second = town.enqueue(function, *args, 0.05)
    town.spawn("fork", 2)
    waited = (started(town, second) - killed) / 1e9
    assert jobs.LEASE / 2 < waited < jobs.LEASE + SLACK
    assert town.log("lease.expired")


def test_c01_horse_alone_killed_frees_the_lock_at_once(town: Town) -> None:
    town.spawn("fork")
    first = town.enqueue(jobs.hold, "a", 1.0)
    started(town, first)
    second = town.enqueue(jobs.hold, "a", 0.05)
    os.kill(town.horses()[0], signal.SIGKILL)
    assert not town.drain(30)
    assert [e["why"] for e in town.log("job.crashed")] == ["signal 9"]
    assert len(town.lines("end", first.id)) == 1
    assert len(town.lines("end", second.id)) == 1
    assert not town.findings()


def test_c01_a_job_past_its_timeout_fails_and_frees_the_lock(town: Town) -> None:
    town.spawn("fork")
    first = town.enqueue(jobs.hold, "a", 60, job_timeout=1)
    started(town, first)
    second = town.enqueue(jobs.hold, "a", 0.05)
    started(town, second)
    assert not town.drain(20)
    assert [e["job"] for e in town.log("job.failed")] == [first.id]


def test_c18_a_dead_workers_slot_is_free_after_the_lease_not_after_a_day(town: Town) -> None:
    worker = town.spawn("fork")
    first, second, third = (town.enqueue(jobs.hold_slot, 0.5, job_timeout=86_400) for _ in range(3))
    started(town, first)
    town.kill(worker)
    killed = time.monotonic_ns()
    eventually(lambda: len(town.lines("start", first.id)) == 2, 20, "the next start")
    assert town.lines("start", first.id)[1].at - killed < (jobs.LEASE + SLACK) * 1e9
    assert not town.drain(30)
    for job in (second, third):
        assert len(town.lines("end", job.id)) == 1
    assert not town.findings()


def test_c18_workers_that_all_start_at_once_never_run_two(town: Town) -> None:
    """The check is inside the claim: no cleaner has to have run first."""
    town.spawn("monitor")
    for _ in range(8):
        town.enqueue(jobs.hold_slot, 0.1)
    for _ in range(3):
        town.end("fork", "monitor")
        before = len(town.lines("start"))
        town.spawn("monitor")
        town.spawn("fork", 3)
        eventually(lambda before=before: len(town.lines("start")) > before, 30, "a job runs again")
    assert not town.drain(60)
    assert not town.findings()


@pytest.mark.parametrize(
    ("how", "why", "retry"),
    [
        ("signal", "signal 9", None),
        ("signal", "signal 9", Retry(max=3)),
        ("exit", "before its end was recorded", None),
        ("parent", "lease ended", Retry(max=3)),
    ],
)
def test_c28_a_job_that_kills_its_process_is_quarantined(town: Town, how: str, why: str, retry: Any) -> None:
    town.spawn("fork", 1 if how != "parent" else 3)
    job = town.enqueue(jobs.die, how, retry=retry)
    healthy = town.enqueue(jobs.hold, "b", 0.05)
    info = eventually(lambda: town.redis.hget(town.keys.static("quarantine_info"), job.id), 30, "it is quarantined")
    assert json.loads(info)["crashes"] == 2
    assert json.loads(info)["attempts"] == 2
    assert json.loads(info)["reason"].startswith("worker died 2 times (")
    assert why in json.loads(info)["reason"]
    assert len(town.lines("start", job.id)) == 2
    town.revive()
    assert not town.drain(30)
    assert len(town.lines("end", healthy.id)) == 1
    assert not town.log("job.failed", "job.retried")
    assert not [f for f in town.findings() if not f.startswith(f"{job.id} is counted")]


def test_c28_sys_exit_is_a_failure_of_the_function(town: Town) -> None:
    town.spawn("fork")
    job = town.enqueue(jobs.die, "sys.exit")
    assert not town.drain(20)
    assert [e["job"] for e in town.log("job.failed")] == [job.id]
    assert not town.log("job.crashed")


def test_c28_a_warm_stop_counts_no_attempt(town: Town) -> None:
    worker = town.spawn("fork")
    first, second = town.enqueue(jobs.hold, "a", 1.0), town.enqueue(jobs.hold, "b", 60)
    started(town, first)
    os.kill(worker.pid, signal.SIGTERM)
    eventually(lambda: not town.alive(worker), 20, "the worker has ended")
    assert len(town.lines("end", first.id)) == 1
    assert not town.lines("start", second.id)

    worker = town.spawn("fork")
    started(town, second)
    os.kill(worker.pid, signal.SIGTERM)
    time.sleep(1.2)  # RQ takes a second signal within one second for the first
    os.kill(worker.pid, signal.SIGTERM)
    eventually(lambda: not town.alive(worker), 20, "the worker has ended")
    assert [e["job"] for e in town.log("job.put_back")] == [second.id]
    key = town.keys.of("rq_job", second.id)
    assert town.redis.hmget(key, "qo_attempts", "qo_crashes", "status") == [b"0", None, b"queued"]
    assert not town.redis.exists(town.keys.static("leases"))
    assert not town.log("job.crashed")


def test_c38_recovery_respects_a_pause(town: Town) -> None:
    """Paused while it runs, killed, and ten workers started at once: nothing starts until resume."""
    worker = town.spawn("fork")
    job = town.enqueue(jobs.hold, "a", 2.0)
    started(town, job)
    run(town.redis, "pause", "q:default", '{"until": 0, "id": "1"}', "ann", "incident")
    town.kill(worker)
    paused = time.monotonic_ns()
    town.spawn("fork", 4)
    waiting = [town.enqueue(jobs.hold, key, 0.05) for key in "bcd"]
    eventually(lambda: town.log("job.crashed", job=job.id), 20, "the dead worker's lease has ended")
    time.sleep(1.0)
    assert not [line for line in town.lines("start") if line.at > paused]
    run(town.redis, "resume", "q:default", "", "ann", "over", 100)
    assert not town.drain(30)
    assert len(town.ended([job, *waiting])) == 4
    assert not town.findings()


def test_c19_a_waiter_starts_as_soon_as_the_holder_ends(town: Town) -> None:
    """Two jobs on one key, again and again: no start is forgotten, none waits for a poll."""
    town.spawn("simple", 2)
    town.spawn("fork")
    for number in range(30):
        town.enqueue(jobs.hold, f"k{number % 3}", 0.0)
        town.enqueue(jobs.hold, f"k{number % 3}", 0.0)
    assert not town.drain(60)
    assert not town.findings()
    gaps = [later.at - earlier.at for earlier, later in pairwise(town.lines("end"))]
    assert max(gaps) < 5e9
    assert judge.totals(town.redis, town.keys)["completed"] == 60


def test_c15_idle_workers_before_a_wall_of_parked_jobs_cost_next_to_nothing(town: Town) -> None:
    town.spawn("fork")
    holder = town.enqueue(jobs.hold, "a", 60)
    eventually(lambda: town.lines("start", holder.id), 20, "the lock is held")
    for _ in range(300):
        town.enqueue(jobs.hold, "a", 0.0)
    town.spawn("fork", 2)
    eventually(lambda: town.redis.zcard(town.keys.of("parked", "default")) == 300, 30, "all are parked")

    def calls() -> int:
        stats = town.redis.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval", "blpop"))

    time.sleep(2.0)
    before, since = calls(), time.monotonic()
    time.sleep(4.0)
    a_second = (calls() - before) / (time.monotonic() - since)
    renewals = 3 / jobs.LEASE
    assert a_second < 2 * 5 + renewals + 1
    assert len(town.lines("start")) == 1
