from __future__ import annotations

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def test_takes_a_parked_job_out_of_every_index(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    job = doors.enqueue(LOCK)
    assert doors.start() is None
    door.forget(doors.redis, job, "default", "discarded")
    assert doors.line(LOCK["i"]) == []
    for family in ("parked", "waiting", "rq_scheduled"):
        assert doors.redis.zcard(K.of(family, "default")) == 0
    assert doors.totals()["discarded"] == 1


def test_does_not_count_what_is_not_open(doors: Doors) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.settle(token)
    door.forget(doors.redis, job, "default", "discarded")
    assert "discarded" not in doors.totals()
