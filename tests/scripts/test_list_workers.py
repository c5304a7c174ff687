from __future__ import annotations

from typing import Any

from queueops.rdb.scripts import run
from tests.scripts.kit import K


def listed(redis: Any, most: int = 100, runs: int = 1) -> dict[str, list[Any]]:
    """By name: last sign, registered, quiet, execution, lease, and the fields ``state`` and ``pid``."""
    return {row[0].decode(): row[1:] for row in run(redis, "list_workers", most, runs, "state", "pid")}


def test_both_sources_once_each(redis: Any) -> None:
    redis.zadd(K.static("workers"), {"ours": 5_000_000, "both": 1_796_104_383_781_042})
    redis.sadd(K.static("rq_workers"), K.of("rq_worker", "both"), K.of("rq_worker", "plain"), "no such prefix")
    redis.hset(K.of("rq_worker", "both"), mapping={"state": "busy", "pid": 7})
    redis.sadd(K.of("rq_worker", "both:executions"), "a:job:t1")
    redis.hset(K.static("leases"), "t1", "{}")
    redis.hset(K.static("quiet"), "plain", '{"by": "ann"}')
    assert listed(redis) == {
        "ours": [b"5000000", 0, b"", b"", b"", None, None],
        "both": [b"1796104383781042", 1, b"", b"a:job:t1", b"{}", b"busy", b"7"],
        "plain": [b"", 1, b'{"by": "ann"}', b"", b"", None, None],
    }
    assert listed(redis, runs=0)["both"][3:5] == [b"", b""]


def test_no_more_than_asked_for(redis: Any) -> None:
    redis.zadd(K.static("workers"), {f"w{n}": n for n in range(50)})
    assert set(listed(redis, most=10)) == {f"w{n}" for n in range(40, 50)}


def test_keys_of_another_type_are_as_missing(redis: Any) -> None:
    redis.set(K.static("workers"), "text")
    redis.sadd(K.static("rq_workers"), K.of("rq_worker", "w"))
    for key in (K.of("rq_worker", "w"), K.of("rq_worker", "w:executions"), K.static("quiet"), K.static("leases")):
        redis.set(key, "text")
    assert listed(redis) == {"w": [b"", 1, b"", b"", b"", None, None]}
    redis.delete(K.static("rq_workers"))
    redis.set(K.static("rq_workers"), "text")
    assert listed(redis) == {}
