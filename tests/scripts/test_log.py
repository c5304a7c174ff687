"""The changelog and the history of each lock."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Lock
from tests.scripts.kit import Doors, K, claim

QUIET, BUSY = claim("lock", "book", "1"), claim("lock", "book", "2")


def history(doors: Doors, instance: str) -> list[str]:
    return [fields[b"e"].decode() for _, fields in doors.redis.xrange(K.of("history", instance))]


@pytest.fixture
def lengths(settings: Any) -> Any:
    def choose(**more: int) -> None:
        settings.QUEUEOPS = {**settings.QUEUEOPS, **more}

    return choose


def test_c23_a_busy_lock_never_erases_a_quiet_ones_history(doors: Doors, lengths: Any) -> None:
    lengths(CHANGELOG_LENGTH=20, LOCK_HISTORY=10)
    assert Lock("book", "1", connection=doors.redis).acquire("t", 30)
    for n in range(30):
        lock = Lock("book", "2", connection=doors.redis)
        assert lock.acquire(f"t{n}", 30) and lock.release(f"t{n}")
    assert history(doors, QUIET["i"]) == ["lock.acquired"]
    assert history(doors, BUSY["i"]) == ["lock.acquired", "lock.released"] * 5
    assert doors.redis.xlen(K.static("log")) == 20


def test_it_outlives_the_lock_for_the_time_stated(doors: Doors, lengths: Any) -> None:
    lengths(LOCK_HISTORY_KEPT=600)
    job = doors.enqueue(QUIET)
    _, token = doors.start() or ("", "")
    doors.settle(token)
    assert not doors.redis.exists(K.of("holders", QUIET["i"]))
    assert history(doors, QUIET["i"]) == ["lock.acquired", "lock.released"]
    assert 595_000 < doors.redis.pttl(K.of("history", QUIET["i"])) <= 600_000
    assert {f[b"job"].decode() for _, f in doors.redis.xrange(K.of("history", QUIET["i"]))} == {job}


def test_either_can_be_off_without_the_other(doors: Doors, lengths: Any) -> None:
    lengths(CHANGELOG_LENGTH=0)
    assert Lock("book", "1", connection=doors.redis).acquire("t", 30)
    assert not doors.redis.exists(K.static("log")) and history(doors, QUIET["i"]) == ["lock.acquired"]
    lengths(CHANGELOG_LENGTH=10, LOCK_HISTORY=0)
    assert Lock("book", "2", connection=doors.redis).acquire("t", 30)
    assert doors.log() == ["lock.acquired"] and history(doors, BUSY["i"]) == []


def test_a_foreign_key_in_its_place_stops_no_door(doors: Doors) -> None:
    doors.redis.set(K.of("history", QUIET["i"]), "mine")
    doors.enqueue(QUIET)
    _, token = doors.start() or ("", "")
    assert doors.settle(token).code == "OK"
    assert doors.log()[-2:] == ["lock.released", "job.completed"]
