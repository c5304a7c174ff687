"""A Redis that is away for longer than a lease: no run goes on that its worker cannot prove to hold."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.chaos import jobs
from tests.chaos.harness import Town
from tests.support import eventually


def test_a_run_ends_with_its_lease_when_redis_is_away(town: Callable[..., Town]) -> None:
    here = town(fork=2)
    job = here.enqueue(jobs.locked, "a", 6.0)
    eventually(lambda: here.lines("start", job.id), what="the job has started")
    time.sleep(1.0)  # a renewal or two
    here.server.kill()
    killed = time.monotonic_ns()
    time.sleep(jobs.LEASE + 1)
    last = here.lines("alive", job.id)[-1].at
    # the job would go on for seconds more; the margin is for a machine that is busy
    assert last < killed + (jobs.LEASE + 0.7) * 1e9, "the run went on after its lease"
    here.server.start()
    assert not here.drain(30)
    assert len(here.lines("end", job.id)) == 1
    assert not here.findings()


def test_a_run_survives_an_outage_shorter_than_its_lease(town: Callable[..., Town]) -> None:
    here = town(fork=2)
    job = here.enqueue(jobs.locked, "a", 3.0)
    eventually(lambda: here.lines("start", job.id), what="the job has started")
    here.server.kill()
    here.server.start()
    assert not here.drain(30)
    assert len(here.lines("start", job.id)) == 1
    assert not here.findings()
