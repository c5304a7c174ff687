"""SIGSTOP: a worker and its horse stand still for longer than the lease, then go on.

The promise: another worker gets the job and its holds when the lease ends. The late run is stopped, or told that it
has lost; it records nothing, releases nothing of the new holder's, and the job counts once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import psutil

from tests.chaos import jobs, judge
from tests.chaos.harness import Town
from tests.support import eventually


def test_c03_a_stopped_worker_that_goes_on_is_told_that_it_has_lost(town: Callable[..., Town]) -> None:
    here = town(fork=1)
    first = here.of("fork")[0]
    job = here.enqueue(jobs.locked, "a", 1.5)
    eventually(lambda: here.lines("start", job.id), what="the job has started")
    family = [*psutil.Process(first.pid).children(), psutil.Process(first.pid)]
    for process in family:
        process.send_signal(signal.SIGSTOP)
    second = here.spawn("fork")
    waiting = here.enqueue(jobs.locked, "a", 0.05)
    eventually(lambda: len(here.lines("start", job.id)) == 2, 20, "another worker has the job")
    for process in reversed(family):
        os.kill(process.pid, signal.SIGCONT)
    assert not here.drain(30)
    log = judge.events(here.redis, here.keys)
    assert [e["w"] for e in log if e["e"] == "job.completed" and e["job"] == job.id] == [second.name]
    assert [e["e"] for e in log if e.get("job") == job.id and e["e"] in ("lease.expired", "job.crashed")]
    # the lock went from the first to the second run and then to the waiting job, never to two at once
    holders = [e for e in log if e["e"].startswith("lock.")]
    held = 0
    for event in holders:
        held += {"lock.acquired": 1, "lock.released": -1}.get(event["e"], 0)
        assert held in (0, 1), holders
    assert len(here.lines("end", waiting.id)) == 1
    assert psutil.pid_exists(first.pid), "the stopped worker goes on serving"
    assert not [finding for finding in here.findings() if "ran twice" not in finding and "held 2" not in finding]


def test_c03_a_horse_that_alone_stood_still_keeps_its_lease(town: Callable[..., Town]) -> None:
    """The parent renews: a job that is only slow, however its process is starved, loses nothing."""
    here = town(fork=2)
    job = here.enqueue(jobs.locked, "a", 0.5)
    eventually(lambda: here.lines("start", job.id), what="the job has started")
    horse = here.horses()[0]
    os.kill(horse, signal.SIGSTOP)
    time.sleep(jobs.LEASE + 1.5)
    os.kill(horse, signal.SIGCONT)
    assert not here.drain(30)
    assert len(here.lines("start", job.id)) == 1
    assert not here.findings()
