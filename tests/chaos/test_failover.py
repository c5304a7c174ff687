"""A primary that dies and its replica that takes over (asynchronous replication, as with Sentinel).

The promise: what the replica had received is kept and goes on; pauses and limits hold; nothing is counted twice in
what is left. What the replica had not received is lost, and there may be two owners of a lock: a run whose lease is
unknown to the new primary is stopped at its next renewal, a third of a lease later. So jobs must be idempotent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import redis as redis_py

from queueops.supervise.embedded import Server
from tests.chaos import jobs, judge
from tests.chaos.harness import Town
from tests.support import eventually, free_port


@contextmanager
def replica_of(here: Town) -> Iterator[Server]:
    """A replica of the town's server that has caught up."""
    port = free_port()
    here.redis.config_set("port", port)
    with Server(here.home / "replica") as replica, redis_py.Redis.from_url(replica.url) as connection:
        connection.replicaof("127.0.0.1", str(port))
        eventually(lambda: connection.info("replication")["master_link_status"] == "up", what="the replica is in step")
        yield replica


def test_what_the_replica_knows_goes_on_and_what_it_does_not_know_is_stopped(town: Callable[..., Town]) -> None:
    here = town(fork=4, monitor=1)
    with replica_of(here) as replica, redis_py.Redis.from_url(replica.url) as promoted:
        here.manage("pause", "--queue", "low", "--reason", "maintenance")
        known = here.enqueue(jobs.locked, "a", 6.0)
        held = [here.enqueue(jobs.locked, "c", 0.05, queue="low") for _ in range(3)]
        eventually(lambda: here.lines("start", known.id), what="the job has started")
        eventually(lambda: promoted.hlen(here.keys.static("leases")) == 1, what="the replica knows")
        promoted.replicaof("NO", "ONE")
        unknown = here.enqueue(jobs.locked, "b", 20.0)
        eventually(lambda: here.lines("start", unknown.id), what="the job has started")

        here.fail_over(replica)
        failed_over = time.monotonic_ns()
        later = [here.enqueue(jobs.locked, key, 0.1) for key in "abab"]
        eventually(lambda: len(here.ended([known, *later])) == 5, 30, "the work goes on")

        assert len(here.lines("start", known.id)) == 1, "a run that the replica knew was disturbed"
        assert not here.lines("end", unknown.id)
        stopped = here.lines("alive", unknown.id)[-1].at
        assert stopped < failed_over + (jobs.LEASE / 3 + 1.5) * 1e9
        assert not [job for job in held if here.lines("start", job.id)], "the pause was lost"
        here.manage("resume", "--queue", "low", "--reason", "done")
        assert not here.drain(30)
        assert not judge.limits_held([line for line in here.all_lines() if line.job != unknown.id])
        assert not judge.ledger_balances(here.redis, here.keys, here.log())
        assert not judge.nothing_left(here.redis, here.keys)
        assert judge.totals(here.redis, here.keys)["completed"] == 8
