from __future__ import annotations

from queueops.rdb import doors as door
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


def test_a_quiet_worker_gets_nothing_and_rings_another(doors: Doors) -> None:
    doors.claim(worker="w1")
    doors.claim(worker="w2")
    run(doors.redis, "quiet", "w1", 1, "ann", "why")
    doors.enqueue()
    assert doors.claim(worker="w1") == door.Refused("QUIET")
    assert doors.redis.llen(K.of("bell", "w2")) == 1
    assert doors.redis.zscore(K.of("idle", "default"), "w1") is None
    run(doors.redis, "quiet", "w1", 0, "ann", "why")
    assert doors.start(worker="w1") is not None


def test_its_mark_goes_with_the_worker(doors: Doors) -> None:
    doors.claim(worker="w1")
    run(doors.redis, "quiet", "w1", 1, "ann", "why")
    doors.redis.zadd(K.static("workers"), {"w1": 1})
    run(doors.redis, "trim", 0, 10, 600 * 10**6, 10**12, 100, 10)
    assert not doors.redis.exists(K.static("quiet"))
