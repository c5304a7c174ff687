from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K

TODO, INFO = K.static("quarantine_todo"), K.static("quarantine_info")


def test_strikes_off_what_is_as_it_was_read(doors: Doors) -> None:
    doors.redis.sadd(TODO, "a", "gone", "c")
    doors.redis.hset(INFO, "a", "info")
    assert run(doors.redis, "copied", "a", "info", "gone", "") == 2
    assert doors.redis.sscan(TODO)[1] == [b"c"]


def test_keeps_what_changed_meanwhile(doors: Doors) -> None:
    doors.redis.sadd(TODO, "changed", "came", "went")
    doors.redis.hset(INFO, mapping={"changed": "new", "came": "info"})
    assert run(doors.redis, "copied", "changed", "old", "came", "", "went", "info") == 0
    assert doors.redis.scard(TODO) == 3


def test_repeating_it_is_harmless(doors: Doors) -> None:
    assert run(doors.redis, "copied", "a", "") == 0
    assert run(doors.redis, "copied") == 0
