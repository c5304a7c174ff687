from __future__ import annotations

import json

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

DAY = 86_400 * 10**6
LOCK = claim("lock", "book", "1")


def trim(doors: Doors, offset: int = 0, page: int = 100) -> list[int]:
    found: list[int] = run(doors.redis, "trim", offset, page, 600 * 10**6, 30 * DAY, 100, 10)
    return found


def test_a_live_lock_is_never_forgotten(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    assert trim(doors) == [1, 0, 0]
    assert doors.redis.zcard(K.of("holders", LOCK["i"])) == 1


def test_an_instance_with_a_waiter_only_is_kept(doors: Doors) -> None:
    doors.redis.zadd(K.static("instances"), {LOCK["i"]: 1})
    doors.redis.zadd(K.of("line", LOCK["i"]), {"j": 1})
    assert trim(doors) == [1, 0, 0]


def test_empty_instances_go_with_their_text(doors: Doors) -> None:
    doors.redis.zadd(K.static("instances"), {f"L:a\x1f{i}": i for i in range(150)})
    doors.redis.hset(K.static("key_text"), "L:a\x1f0", "text")
    assert trim(doors) == [100, 100, 0]
    assert doors.redis.zcard(K.static("instances")) == 50
    assert not doors.redis.exists(K.static("key_text"))


def test_a_page_begins_at_the_offset(doors: Doors) -> None:
    doors.redis.zadd(K.static("instances"), {f"L:a\x1f{i}": i for i in range(150)})
    assert trim(doors, offset=120) == [30, 30, 0]


def test_workers_unheard_of_leave_the_idle_sets(doors: Doors) -> None:
    now = doors.redis.time()[0] * 10**6
    doors.redis.zadd(K.static("workers"), {"dead": now - 700 * 10**6, "live": now})
    for worker in ("dead", "live"):
        doors.redis.hset(K.static("worker_queues"), worker, json.dumps(["q"]))
        doors.redis.zadd(K.of("idle", "q"), {worker: 1})
    assert trim(doors) == [0, 0, 1]
    assert doors.redis.zrange(K.of("idle", "q"), 0, 10) == [b"live"]
    assert doors.redis.hkeys(K.static("worker_queues")) == [b"live"]


def test_names_are_forgotten_by_age_and_number(doors: Doors) -> None:
    now = doors.redis.time()[0] * 10**6
    doors.redis.zadd(K.static("queues"), {"old": now - 31 * DAY, "new": now})
    doors.redis.zadd(K.static("functions"), {f"f{i}": now - i for i in range(130)})
    doors.redis.zadd(K.static("releases"), {f"r{i}": i for i in range(15)})
    trim(doors)
    assert doors.redis.zrange(K.static("queues"), 0, 10) == [b"new"]
    assert doors.redis.zcard(K.static("functions")) == 100
    assert doors.redis.zscore(K.static("functions"), "f0") is not None
    assert doors.redis.zcard(K.static("releases")) == 10
    assert doors.redis.zscore(K.static("releases"), "r14") is not None
