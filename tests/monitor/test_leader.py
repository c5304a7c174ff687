"""C07: the leader's flag is a lease with a token."""

from __future__ import annotations

from typing import Any

from queueops.monitor.leader import Leadership
from queueops.rdb.keys import Keys
from queueops.rdb.scripts import run


def test_one_leads_and_keeps_leading(redis: Any) -> None:
    one, two = Leadership(redis), Leadership(redis)
    assert one.seek()
    assert not two.seek()
    assert one.seek()
    assert (one.held, two.held) == (True, False)


def test_the_lease_has_an_end(redis: Any, keys: Keys) -> None:
    one = Leadership(redis)
    one.seek()
    assert 0 < redis.pttl(keys.static("monitor_leader")) <= 5000


def test_a_successor_takes_over_when_it_ended(redis: Any, keys: Keys) -> None:
    one, two = Leadership(redis), Leadership(redis)
    one.seek()
    redis.delete(keys.static("monitor_leader"))  # as its expiry does
    assert two.seek()
    assert not one.seek()
    assert not one.held


def test_resigning_frees_only_the_own_lease(redis: Any) -> None:
    one, two = Leadership(redis), Leadership(redis)
    one.seek()
    two.resign()
    assert one.seek()
    one.resign()
    assert not one.held
    assert two.seek()


def test_snapshots_are_numbered_across_leaders(redis: Any) -> None:
    one, two = Leadership(redis), Leadership(redis)
    one.seek()
    one.seek()
    one.resign()
    two.seek()
    assert two.seq > one.seq > 0


def test_a_leader_that_slept_publishes_nothing(redis: Any, keys: Keys) -> None:
    one, two = Leadership(redis), Leadership(redis)
    one.seek()
    redis.delete(keys.static("monitor_leader"))
    two.seek()
    assert run(redis, "show", one.token, 10_000, "old") == 0
    assert redis.get(keys.static("snapshot")) is None
    assert run(redis, "show", two.token, 10_000, "new") == 1
    assert redis.get(keys.static("snapshot")) == b"new"
