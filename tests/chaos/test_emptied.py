"""A Redis that loses everything in the middle of the work (FLUSHALL; a new primary without the data is the same).

The promise: what people set is rebuilt from SQL before the first claim, so pauses hold; jobs claimed afterwards keep
every limit among themselves; a run from before is stopped at its next renewal and records nothing. Jobs that waited
are lost, as is everything that was only there; a run from before may overlap one from after until that renewal.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.chaos import jobs, judge
from tests.chaos.harness import Town
from tests.support import eventually


def test_pauses_and_limits_hold_after_redis_was_emptied(town: Callable[..., Town]) -> None:
    here = town(fork=3, monitor=1)
    here.manage("pause", "--queue", "low", "--reason", "maintenance")
    running = here.enqueue(jobs.locked, "a", 8.0)
    eventually(lambda: here.lines("start", running.id), what="the job has started")

    here.redis.flushall()
    emptied = time.monotonic_ns()
    held = [here.enqueue(jobs.slotted, 0.05, queue="low") for _ in range(5)]
    later = [here.enqueue(jobs.slotted, 0.1) for _ in range(12)]
    later += [here.enqueue(jobs.locked, "b", 0.05) for _ in range(4)]
    eventually(lambda: len(here.ended(later)) == len(later), 30, "the jobs enqueued afterwards have run")

    assert not here.ended(held), "the pause was lost"
    assert not [job for job in held if here.lines("start", job.id)]
    last = here.lines("alive", running.id)[-1].at
    assert last < emptied + 1.5e9, "a run without a lease went on"
    assert not here.lines("end", running.id)
    lines = [line for line in here.all_lines() if line.job != running.id]
    assert not judge.limits_held(lines)

    here.manage("resume", "--queue", "low", "--reason", "done")
    eventually(lambda: len(here.ended(held)) == len(held), 30, "the paused jobs have run")
    assert not here.drain(20)
    total = judge.totals(here.redis, here.keys)
    assert total["completed"] == len(later) + len(held)
    assert total["accepted"] == total["completed"]
