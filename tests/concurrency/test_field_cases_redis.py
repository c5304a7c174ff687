"""FIELD_CASES.md C20, C21: what a Redis may do to its clients, to real processes at work."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis.exceptions

from queueops.rdb.keys import instance
from tests.chaos import judge
from tests.chaos.harness import Town
from tests.concurrency import jobs
from tests.support import eventually


def scripts_forgotten(town: Town) -> None:
    town.redis.script_flush()


def clients_cut_off(town: Town) -> None:
    town.redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def read_only(town: Town) -> None:
    town.redis.replicaof("127.0.0.1", "1")
    time.sleep(0.3)
    town.redis.replicaof("NO", "ONE")


def standing_still(town: Town) -> None:
    town.redis.client_pause(400)


def full(town: Town) -> None:
    town.redis.config_set("maxmemory", 1)
    time.sleep(0.3)
    town.redis.config_set("maxmemory", 0)


@pytest.mark.parametrize("happens", [scripts_forgotten, clients_cut_off, read_only, standing_still, full])
def test_c20_c21_work_goes_on_and_nothing_fails(town: Town, happens: Any) -> None:
    town.spawn("fork", 2)
    town.spawn("simple")
    work = [town.enqueue(jobs.hold, f"k{number % 4}", 0.1) for number in range(16)]
    for _ in range(4):
        eventually(lambda: town.lines("start"), 20, "work has begun")
        happens(town)
        time.sleep(0.1)
    assert not town.drain(60)
    assert len(town.ended(work)) == len(work)
    assert not town.log("job.failed", "job.quarantined")
    assert not town.findings()
    assert all(town.alive(process) for process in town.processes), "a worker gave up"


def test_c21_an_enqueue_that_redis_refuses_leaves_nothing_behind(town: Town) -> None:
    town.redis.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        town.enqueue(jobs.hold, "a", 0.0, job_id="refused")
    town.redis.config_set("maxmemory", 0)
    assert not town.redis.exists(town.keys.of("rq_job", "refused"), town.keys.of("rq_queue", "default"))
    assert not judge.totals(town.redis, town.keys)
    again = town.enqueue(jobs.hold, "a", 0.0, job_id="refused")
    town.spawn("fork")
    assert not town.drain(20)
    assert len(town.ended([again])) == 1


def test_c21_a_lock_that_vanished_is_noticed_and_logged_and_disturbs_nobody(town: Town) -> None:
    """What an evicting Redis does: it throws away keys that expire, and the holders of a lock are one."""
    town.spawn("fork", 2)
    lock = instance("lock", "held", "a")
    first = town.enqueue(jobs.hold, "a", 2.0)
    eventually(lambda: town.lines("start", first.id), 20, "it has started")
    assert town.redis.delete(town.keys.of("holders", lock)) == 1
    noticed = eventually(lambda: town.log("lock.expired"), 20, "the renewal notices")
    assert noticed[0]["job"] == first.id
    second = town.enqueue(jobs.hold, "a", 0.0)
    assert not town.drain(30)
    assert len(town.ended([first, second])) == 2
    assert len(town.log("lock.expired")) == 1
    assert not town.log("job.failed", "job.crashed")
    assert not judge.nothing_left(town.redis, town.keys)
