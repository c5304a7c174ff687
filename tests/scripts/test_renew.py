from __future__ import annotations

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K, claim, eventually

LOCK = claim("lock", "book", "1")


def test_extends_lease_holds_and_rqs_entries(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start(span=5) or ("", "")
    before = doors.redis.zscore(K.static("lease_ends"), token)
    assert eventually(lambda: doors.redis.time()[1]) and door.renew(doors.redis, token, 60)
    after = doors.redis.zscore(K.static("lease_ends"), token)
    assert after > before and doors.redis.zscore(K.of("holders", LOCK["i"]), token) == after
    assert doors.redis.zscore(K.of("rq_wip", "default"), f"{job}:{token}") >= after / 1e6 + 59


def test_a_lease_that_is_over_is_lost_and_ended_at_once(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start(span=0.02) or ("", "")
    end = doors.redis.zscore(K.static("lease_ends"), token)
    assert eventually(lambda: doors.redis.time() > (int(end // 1e6), int(end % 1e6)))
    assert not door.renew(doors.redis, token, 60)
    assert doors.queued() == [job] and doors.redis.zcard(K.of("holders", LOCK["i"])) == 0
    assert doors.totals()["crashed"] == 1
    assert not door.renew(doors.redis, token, 60)


def test_does_not_bring_back_a_vanished_hash_or_a_released_hold(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    doors.redis.delete(K.of("rq_job", job), K.of("holders", LOCK["i"]))
    assert door.renew(doors.redis, token, 60)
    assert not doors.redis.exists(K.of("rq_job", job)) and not doors.redis.exists(K.of("holders", LOCK["i"]))
