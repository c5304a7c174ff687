"""A hold without a living job behind it is told to a person when jobs have waited for it for a while."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Lock
from queueops.rdb.client import Server
from queueops.telemetry.snapshot import snapshot
from tests.scripts.kit import Doors, K, claim


@pytest.fixture
def doors(redis: Any, mirrored: Server) -> Doors:
    return Doors(redis, span=900)


def told(server: Server) -> list[dict[str, Any]]:
    return [need for need in snapshot(server)["needs"] if need["kind"] == "control"]


def wait(doors: Doors, lock: dict[str, Any]) -> None:
    """A job that has waited for ``lock`` for a minute and a half."""
    job = doors.enqueue(lock)
    assert doors.start(worker="w2") is None
    doors.redis.zincrby(K.of("line", lock["i"]), -90_000_000, job)


def test_the_owner_is_dead(doors: Doors, mirrored: Server) -> None:
    book = claim("lock", "book", "7")
    doors.enqueue(book)
    doors.start(worker="w1")
    wait(doors, book)
    assert told(mirrored) == [], "its worker lives"
    doors.redis.zincrby(K.static("workers"), -90_000_000, "w1")
    (need,) = told(mirrored)
    assert need["text"] == "A hold of “book 7” has no living job behind it, and 1 job waits for it."
    assert need["href"] == "/locks/?control=L%3Abook&key=7" and need["level"] == "warn"


def test_more_than_five_are_counted(doors: Doors, mirrored: Server) -> None:
    for n in range(7):
        lock = claim("lock", f"lock{n}")
        doors.enqueue(lock)
        doors.start(worker="w1")
        wait(doors, lock)
    doors.redis.zincrby(K.static("workers"), -90_000_000, "w1")
    needs = told(mirrored)
    assert len(needs) == 6
    assert needs[-1]["text"] == "2 more locks are held without a living job."
    assert needs[-1]["href"] == "/locks/?kind=gone"


def test_what_is_held_by_hand_is_told_once_jobs_wait(doors: Doors, mirrored: Server) -> None:
    assert Lock("book", "8", connection=doors.redis).acquire("token", 900)
    assert told(mirrored) == []
    wait(doors, claim("lock", "book", "8"))
    assert len(told(mirrored)) == 1
