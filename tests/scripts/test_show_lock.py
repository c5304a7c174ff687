from __future__ import annotations

from typing import Any

from queueops.rdb.keys import SEP
from queueops.rdb.scripts import run
from tests.scripts.kit import K

S = 1_000_000
LOCK = f"S:disk{SEP}"


def shown(redis: Any, instance: str = LOCK, most: int = 10, offers: int = 5) -> list[Any]:
    found: list[Any] = run(redis, "show_lock", instance, most, offers, 30 * S)
    return found


def test_holders_waiters_and_offers(redis: Any) -> None:
    seconds, _ = redis.time()
    redis.zadd(K.of("holders", LOCK), {"t1": 4e15, "t2#3": 4e15 + 1, "a job": 5e15, "resting": 6e15})
    redis.hset(K.of("holder_weights", LOCK), mapping={"t1": 2, "": 1})
    redis.hset(K.static("leases"), mapping={"t1": '{"worker": "w1"}', "t2": '{"worker": "w2"}'})
    redis.zadd(K.static("workers"), {"w1": (seconds + 60) * S, "w2": (seconds - 60) * S})
    for job in ("a job", "resting"):
        redis.hset(K.of("rq_job", job), "status", "started")
    redis.hset(K.static("running"), "a job", "t9")
    redis.zadd(K.of("line", LOCK), {"j1": 1_796_104_383_781_042, "j2": 1_796_104_383_781_043})
    redis.hset(K.of("rq_job", "j1"), mapping={"origin": "q", "qo_func": "app.f"})
    redis.zadd(K.of("offers", LOCK), {"j1": 4e15})
    redis.hset(K.of("offer_weights", LOCK), "j1", 3)
    holders, waiters, offers = shown(redis)
    assert holders == [
        [b"t1", b"4000000000000000", b'{"worker": "w1"}', b"2", 0, 0],
        [b"t2#3", b"4000000000000001", b'{"worker": "w2"}', b"", 0, 1],
        [b"a job", b"5000000000000000", b"", b"", 1, 0],
        [b"resting", b"6000000000000000", b"", b"", 2, 0],
    ]
    assert waiters == [
        [b"j1", b"1796104383781042", b"q", b"app.f", 1, b"3"],
        [b"j2", b"1796104383781043", b"", b"", 0, b""],
    ]
    assert offers == [[b"j1", b"q"]]
    assert [len(part) for part in shown(redis, most=1)] == [1, 1, 1]


def test_a_unique_lock_is_held_by_a_job(redis: Any) -> None:
    lock = f"U:f{SEP}k"
    redis.zadd(K.of("holders", lock), {"j1": "+inf"})
    redis.hset(K.of("rq_job", "j1"), mapping={"status": "started", "origin": "q", "worker_name": "w"})
    redis.hset(K.of("rate", lock), "by_time", 1)
    assert shown(redis, lock)[0] == [[b"j1", b"inf", b"", b"", 2, 1, b"started", b"q", b"", b"w", b"1"]]
    redis.hset(K.static("running"), "j1", "t1")
    assert shown(redis, lock)[0] == [[b"j1", b"inf", b"", b"", 1, 1, b"started", b"q", b"", b"w", b"1"]]


def test_nothing_and_keys_of_another_type(redis: Any) -> None:
    assert shown(redis) == [[], [], []]
    redis.zadd(K.of("line", LOCK), {"j": 1})
    redis.zadd(K.of("holders", LOCK), {"t": 1})
    for key in (K.of("holder_weights", LOCK), K.of("offers", LOCK), K.of("offer_weights", LOCK), K.static("leases"),
                K.of("rq_job", "j"), K.static("workers")):  # fmt: skip
        redis.set(key, "text")
    assert shown(redis) == [[[b"t", b"1", b"", b"", 0, 0]], [[b"j", b"1", b"", b"", 0, b""]], []]
