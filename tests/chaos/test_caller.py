"""A caller that is killed between any two writes of its enqueue: the job is there whole, or not at all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from tests.chaos.harness import Town
from tests.support import eventually

KILLS = 12


def test_a_caller_killed_while_it_enqueues_leaves_whole_jobs(town: Callable[..., Town]) -> None:
    dice = random.Random(7)
    here = town(fork=1, pause=0.0)
    for _ in range(KILLS):
        sign = dice.choice(("offered", "accepted"))
        before = len(here.lines(sign))
        caller = here.spawn("producer")
        eventually(lambda sign=sign, before=before: len(here.lines(sign)) > before, what=f"it has {sign} a job")
        time.sleep(0.03 * dice.random())
        here.end(caller.kind)
    offered = {line.job for line in here.lines("offered")}
    accepted = {line.job for line in here.lines("accepted")}
    assert len(offered) > len(accepted) > 0
    for job in offered:
        key = here.keys.of("rq_job", job)
        fields = here.redis.hmget(key, "data", "status", "origin", "qo_claims", "created_at")
        assert all(fields) or not any(fields), f"{job} is half there: {fields}"
    here.spawn("fork")
    assert not here.drain(90)
    assert not here.findings()
