from __future__ import annotations

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def take(doors: Doors) -> tuple[str | None, str]:
    job = doors.enqueue(LOCK, mode="sync")
    return door.take(doors.redis, job, "default", "app.f", f"token-{job}", 30), f"token-{job}"


def test_takes_settles_and_refuses_without_parking(doors: Doors) -> None:
    refused, token = take(doors)
    assert refused is None and doors.redis.zscore(K.of("holders", LOCK["i"]), token)
    second, _ = take(doors)
    assert second == LOCK["i"] and doors.line(LOCK["i"]) == []
    assert doors.settle(token).code == "OK"
    assert doors.totals() == {"accepted": 2, "started": 1, "skipped": 1, "completed": 1}


def test_refuses_while_paused(doors: Doors) -> None:
    doors.redis.hset(K.static("paused"), "all", '{"until": 0}')
    assert take(doors)[0] == "paused"
    assert doors.totals() == {"accepted": 1, "skipped": 1}
