from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K

KEY = K.static("monitor_leader")


def test_the_first_leads_and_extends(doors: Doors) -> None:
    assert run(doors.redis, "lead", "a", 5000) == [1, 1]
    doors.redis.pexpire(KEY, 100)
    assert run(doors.redis, "lead", "a", 5000) == [1, 2]
    assert doors.redis.pttl(KEY) > 4000


def test_another_does_not_lead_and_changes_nothing(doors: Doors) -> None:
    run(doors.redis, "lead", "a", 5000)
    doors.redis.pexpire(KEY, 1000)
    assert run(doors.redis, "lead", "b", 5000) == [0, 0]
    assert (doors.redis.get(KEY), doors.redis.pttl(KEY) <= 1000) == (b"a", True)
    assert run(doors.redis, "lead", "b", 0) == [0, 0]
    assert doors.redis.get(KEY) == b"a"


def test_a_length_of_zero_gives_it_up(doors: Doors) -> None:
    run(doors.redis, "lead", "a", 5000)
    assert run(doors.redis, "lead", "a", 0) == [0, 0]
    assert not doors.redis.exists(KEY)


def test_the_number_goes_on_under_the_next_leader(doors: Doors) -> None:
    run(doors.redis, "lead", "a", 5000)
    run(doors.redis, "lead", "a", 0)
    assert run(doors.redis, "lead", "b", 5000) == [1, 2]
