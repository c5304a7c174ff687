from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from queueops.rdb.keys import SEP
from queueops.rdb.scripts import run
from tests.scripts.kit import K

S = 1_000_000


@pytest.fixture
def now(redis: Any) -> Callable[[], int]:
    def read() -> int:
        seconds, micros = redis.time()
        return int(seconds * S + micros)

    return read


def listed(redis: Any, *ids: str, **more: Any) -> list[Any]:
    options = {"ids": ids, "newest": 0, "waited": 0, "most": 100, "owners": 10, "silent": 30 * S, "brief": 0, "all": 0}
    found: list[Any] = run(redis, "list_locks", json.dumps({**options, **more}))
    return found


def named(answer: list[Any]) -> list[str]:
    return [row[0].decode() for row in answer[5]]


def test_one_lock_in_full(redis: Any, now: Callable[[], int]) -> None:
    lock = f"S:s3{SEP}#abc"
    redis.hset(K.static("controls"), mapping={"S:s3": '{"limit": 4}', "S:other": "{}"})
    redis.hset(K.static("overrides"), "S:s3", '{"limit": 2}')
    redis.hset(K.static("key_text"), lock, "the readable key")
    redis.zadd(K.static("instances"), {lock: 1, "L:x": 2})
    redis.zadd(K.of("holders", lock), {"t1": 4e15, "t2": 5e15})
    redis.hset(K.of("holder_weights", lock), mapping={"t1": 3, "": 2})
    redis.zadd(K.of("offers", lock), {"j1": 4e15})
    redis.hset(K.of("offer_weights", lock), "", 1)
    redis.zadd(K.of("line", lock), {"j1": 1_796_104_383_781_042, "j2": 1_796_104_383_781_043})
    redis.hset(K.of("rate", lock), mapping={"used": 7, "at": 9})
    redis.zadd(K.static("workers"), {"w": now()})
    redis.hset(K.static("leases"), "t1", '{"worker": "w"}')
    at, known, controls, overrides, conflicts, (row,) = listed(redis, lock, lock)
    assert abs(int(at) - now()) < 60 * S and known == 2
    assert (controls, overrides, conflicts) == ([b"S:s3", b'{"limit": 4}'], [b"S:s3", b'{"limit": 2}'], [])
    assert row == [
        lock.encode(), 2, b"the readable key", 2, b"2", 1, b"1", b"1796104383781042", b"4000000000000000",
        b"", b"7", b"", b"9", 1,
    ]  # fmt: skip
    assert listed(redis, lock, brief=1)[2:] == [[], [], [], [[lock.encode(), 2]]]
    assert sorted(listed(redis, all=1)[2][::2]) == [b"S:other", b"S:s3"]


def test_starts_of_a_rate_count_within_its_window(redis: Any, now: Callable[[], int]) -> None:
    redis.hset(K.static("controls"), "R:mail", json.dumps({"per": 60 * S}))
    redis.zadd(K.of("holders", f"R:mail{SEP}"), {"old": now() - 90 * S, "new": now() - 10 * S})
    assert listed(redis, f"R:mail{SEP}")[5][0][3] == 1


@pytest.mark.parametrize(
    ("token", "ends", "lease", "sign", "gone"),
    [
        ("t", 60, {"worker": "w"}, -5, 0),
        ("t#2", 60, {"worker": "w"}, -5, 0),
        ("t", 60, {"worker": "w"}, -60, 1),
        ("t", 60, {"worker": "w"}, None, 1),
        ("t", 60, {}, None, 0),
        ("t", 60, None, -5, 1),
        ("t", -1, {"worker": "w"}, -5, 1),
    ],
)
def test_whose_owner_is_gone(
    redis: Any, now: Callable[[], int], token: str, ends: int, lease: Any, sign: int | None, gone: int
) -> None:
    redis.zadd(K.of("holders", "L:x"), {token: now() + ends * S})
    if lease is not None:
        redis.hset(K.static("leases"), "t", json.dumps({**lease, "job": "j"}))
    if sign is not None:
        redis.zadd(K.static("workers"), {"w": now() + sign * S})
    assert listed(redis, "L:x")[5][0][13] == gone


def test_the_newest_changed_and_what_parked_jobs_wait_for(redis: Any) -> None:
    redis.zadd(K.static("instances"), {f"L:{n}": n for n in range(50)})
    redis.zadd(K.static("queues"), {"a": 1, "b": 2})
    for queue, n in (("a", 3), ("b", 4)):
        redis.zadd(K.of("parked", queue), {f"j{n}": 1, "by time": 2})
        redis.hset(K.of("rq_job", f"j{n}"), "qo_parked", f"L:{n}")
    redis.hset(K.of("rq_job", "by time"), "qo_parked", "")
    assert named(listed(redis, newest=2, waited=10)) == ["L:4", "L:3", "L:49", "L:48"]
    assert named(listed(redis, "L:7", newest=2, waited=10, most=3)) == ["L:7", "L:4", "L:3"]


def test_keys_of_another_type_are_as_missing(redis: Any) -> None:
    for name in ("controls", "overrides", "conflicts", "key_text", "instances", "queues"):
        redis.set(K.static(name), "text")
    for family in ("holders", "holder_weights", "offers", "offer_weights", "line", "rate"):
        redis.set(K.of(family, "L:x"), "text")
    assert listed(redis, "L:x", newest=5, waited=5)[1:5] == [0, [], [], []]
    assert listed(redis, "L:x", all=1)[5][0] == [b"L:x", 0, b"", 0, b"", 0, b"", b"", b"", b"", b"", b"", b"", 0]
