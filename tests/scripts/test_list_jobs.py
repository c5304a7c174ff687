"""Pages of jobs: exact at any depth, whatever comes and goes between two pages; the script writes nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from queueops.rdb.client import Server
from queueops.rdb.scripts import run
from queueops.telemetry.job_pages import Cursor, JobFilter, JobSlice, read
from tests.scripts.kit import Doors, K, claim

QUEUES = ("default", "high", "low")
REGISTRY = {"scheduled": "rq_scheduled", "deferred": "rq_deferred", "failed": "rq_failed",
            "quarantined": "quarantined", "parked": "parked"}  # fmt: skip


def page(redis: Any, wanted: JobFilter, **more: Any) -> JobSlice:
    return read(Server("here", redis), wanted, more.pop("queues", QUEUES), **more)


def ids(found: JobSlice) -> list[str]:
    return [row.id for row in found.rows]


def walk(redis: Any, wanted: JobFilter, size: int = 7, **more: Any) -> list[str]:
    """Forward to the end, then back to the beginning: both must agree."""
    seen, cursor, last = [], None, None
    while True:
        found = page(redis, wanted, size=size, cursor=cursor, **more)
        seen += ids(found)
        last = found.last or last
        if not found.left:
            break
        cursor = found.last
    back: list[str] = []
    cursor = None
    while True:
        found = page(redis, wanted, size=size, cursor=cursor, back=True, **more)
        back = ids(found) + back
        if not found.left:
            break
        cursor = found.first
    assert seen == back
    return seen


def put(redis: Any, state: str, count: int, **fields: Any) -> list[str]:
    """Jobs over three queues, many with the same order key."""
    chance, made = random.Random(state), []
    for i in range(count):
        job, queue, score = (
            f"{state}-{chance.random()}",
            QUEUES[i % 3],
            1_700_000_000 + chance.randrange(count // 4 + 1),
        )
        status = {"quarantined": "failed", "parked": "scheduled"}.get(state, state)
        hash_ = {"status": status, "origin": queue, "qo_func": "app.f", "description": f"app.f({i})", **fields}
        if state == "queued":
            redis.rpush(K.of("rq_queue", queue), job)
            hash_["qo_since"] = 1_700_000_000_000_000 + i
        else:
            redis.zadd(K.of(REGISTRY[state], queue), {job: score})
        redis.hset(K.of("rq_job", job), mapping=hash_)
        made.append((score, queue, job))
    if state == "queued":
        return [job.decode() for queue in QUEUES for job in redis.lrange(K.of("rq_queue", queue), 0, -1)]
    return [job for _, _, job in sorted(made, reverse=state in ("failed", "quarantined"))]


@pytest.mark.parametrize("state", ["queued", "scheduled", "deferred", "failed", "quarantined", "parked"])
def test_pages_join_without_gap_or_repeat_both_ways(redis: Any, state: str) -> None:
    expected = put(redis, state, 100)
    assert walk(redis, JobFilter(state)) == expected
    assert walk(redis, JobFilter(state), queues=["high"]) == [
        job for job in expected if redis.hget(K.of("rq_job", job), "origin") == b"high"
    ]
    assert page(redis, JobFilter(state), count=True).total == 100


@pytest.mark.parametrize("state", ["queued", "scheduled", "failed"])
def test_what_comes_and_goes_between_two_pages_changes_no_other_row(redis: Any, state: str) -> None:
    """Half of what was seen goes, new ones come at both ends: all that stayed is seen once, in its order."""
    expected = put(redis, state, 120)
    chance, seen, cursor, gone, step = random.Random(7), [], None, set(), 0
    while True:
        found = page(redis, JobFilter(state), size=10, cursor=cursor)
        seen += ids(found)
        if not found.left:
            break
        cursor = Cursor.read(found.last.text()) if found.last else None
        assert cursor == found.last
        for job in chance.sample(expected, 20) + seen[-2:]:
            gone.add(job)
            queue = (redis.hget(K.of("rq_job", job), "origin") or b"").decode()
            redis.delete(K.of("rq_job", job))
            if state == "queued":
                redis.lrem(K.of("rq_queue", queue), 0, job)
            else:
                redis.zrem(K.of(REGISTRY[state], queue), job)
        step += 1
        for queue in QUEUES:
            new = f"new-{step}-{queue}"
            redis.hset(K.of("rq_job", new), mapping={"status": state, "origin": queue, "qo_since": 2**50 + step})
            if state == "queued":
                redis.rpush(K.of("rq_queue", queue), new)
            else:
                redis.zadd(K.of(REGISTRY[state], queue), {new: 1_600_000_000 if step % 2 else 1_900_000_000})
    stayed = [job for job in expected if job not in gone]
    old = [job for job in seen if not job.startswith("new-")]
    assert len(set(seen)) == len(seen)
    assert [job for job in old if job in set(stayed)] == stayed


def test_a_page_of_a_queue_goes_on_when_all_it_showed_has_run(redis: Any) -> None:
    expected = put(redis, "queued", 90)[:30]
    first = page(redis, JobFilter(queue="default"), queues=["default"], size=10)
    assert ids(first) == expected[:10]
    for _ in range(15):
        redis.lpop(K.of("rq_queue", "default"))
    second = page(redis, JobFilter(), queues=["default"], size=10, cursor=first.last)
    assert ids(second) == expected[15:25]


def test_parts_and_shared_registries(doors: Doors) -> None:
    redis = doors.redis
    disk = claim("semaphore", "disk")
    doors.enqueue(disk)
    doors.start()
    parked = doors.enqueue(disk)
    assert doors.start() is None
    held = doors.enqueue()
    run(redis, "quarantine", held, "ann", "why", "")
    put(redis, "scheduled", 3)
    retry = put(redis, "failed", 1)[0]
    redis.zrem(K.of("rq_failed", "default"), retry)
    redis.zadd(K.of("rq_scheduled", "default"), {retry: 1_700_000_001})
    redis.hset(K.of("rq_job", retry), mapping={"status": "scheduled", "qo_failures": 1, "repeats_left": 4})
    assert ids(page(redis, JobFilter("parked"))) == [parked]
    assert len(ids(page(redis, JobFilter("scheduled")))) == 4
    assert ids(page(redis, JobFilter("retries"))) == [retry]
    assert ids(page(redis, JobFilter("repeats"))) == [retry]
    assert ids(page(redis, JobFilter("failed"))) == []
    assert ids(page(redis, JobFilter("quarantined"))) == [held]
    found = page(redis, JobFilter("running"), sample=True)
    assert len(found.rows) == 1 and found.rows[0].listed == "running"
    assert (found.retries, found.repeats, found.sampled_all) == (1, 1, True)
    assert page(redis, JobFilter("quarantined")).rows[0].info["kind"] == "operator"


def test_filters(redis: Any) -> None:
    put(redis, "failed", 9)
    redis.hset(
        K.of("rq_job", "x"),
        mapping={
            "status": "failed", "origin": "low", "qo_func": "Shop.Pay", "description": "Shop.Pay('<b>', 100%)",
            "qo_tags": "\x1fred\x1fa b\x1f", "qo_error": "abcd", "qo_error_line": "SlowDown: 503",
            "ended_at": "2020-01-01T00:00:00.000000Z",
        },
    )  # fmt: skip
    redis.zadd(K.of("rq_failed", "low"), {"x": 1})
    day = 86400.0
    for wanted in (
        {"function": "shop.p"}, {"text": "'<B>', 100%"}, {"any": "shop"}, {"any": "x"}, {"tag": "a b"}, {"tag": "red"},
        {"error": "abcd"}, {"error": "slowdown"}, {"older": day}, {"older": day, "function": "pay"},
    ):  # fmt: skip
        assert "x" in ids(page(redis, JobFilter("failed", **wanted))), wanted
        if wanted != {"any": "x"}:
            assert ids(page(redis, JobFilter("failed", **wanted))) == ["x"], wanted
    for wanted in ({"tag": "re"}, {"tag": "\x1f"}, {"younger": day}, {"error": "abc"}, {"text": "%d"}):
        assert "x" not in ids(page(redis, JobFilter("failed", **wanted))), wanted


def test_a_filtered_page_looks_at_a_bounded_number_and_can_go_on(redis: Any) -> None:
    expected = put(redis, "scheduled", 100)
    wanted, seen, cursor, calls = JobFilter("scheduled", text=f"app.f({42})"), [], None, 0
    while True:
        found = page(redis, wanted, budget=20, cursor=cursor)
        assert found.looked <= 20
        seen, calls = seen + ids(found), calls + 1
        if not found.left:
            break
        cursor = found.last
    assert calls == 5 and len(seen) == 1 and seen[0] in expected


def test_bad_entries_do_not_take_the_page_down(redis: Any) -> None:
    redis.zadd(K.of("rq_failed", "default"), {b"\xff\xfe": 3, "gone": 2, "list": 1, "": 0})
    redis.rpush(K.of("rq_job", "list"), "no hash")
    redis.hset(K.of("rq_job", ""), mapping={"status": "odd", "ended_at": "yesterday", "qo_failures": "many"})
    redis.set(K.of("rq_failed", "high"), "no set")
    found = page(redis, JobFilter("failed"))
    assert [(row.id, row.gone) for row in found.rows] == [
        ("\\xff\\xfe", True),
        ("gone", True),
        ("list", True),
        ("", False),
    ]
    first = page(redis, JobFilter("failed"), size=1)
    again = Cursor.read(first.last.text()) if first.last else None
    assert ids(page(redis, JobFilter("failed"), size=1, cursor=again)) == ["gone"]


@pytest.mark.parametrize("text", ["", "x", "W10", "bnVsbA", "WzFd", "🦆", "W1siYSJdLDEsMiwzXQ"])
def test_a_cursor_that_says_nothing_is_none(text: str) -> None:
    assert Cursor.read(text) is None


def test_it_writes_nothing(redis: Any) -> None:
    put(redis, "queued", 10)
    put(redis, "failed", 10)
    dump = {key: redis.dump(key) for key in redis.scan_iter()}
    for state in ("queued", "failed", "scheduled", "running", "parked", "quarantined", "deferred"):
        page(redis, JobFilter(state, any="f"), sample=True)
    assert {key: redis.dump(key) for key in redis.scan_iter()} == dump


def test_scheduled_jobs_are_found_behind_any_number_of_parked_ones(redis: Any) -> None:
    parked, scheduled = put(redis, "parked", 900), put(redis, "scheduled", 30)
    for n, job in enumerate(parked):
        queue = redis.hget(K.of("rq_job", job), "origin").decode()
        redis.zadd(K.of("rq_scheduled", queue), {job: 1_600_000_000 + n})
        redis.hset(K.of("rq_job", job), "qo_parked", "L:x")
    redis.hset(K.of("rq_job", scheduled[3]), "repeats_left", 2)
    assert walk(redis, JobFilter("scheduled"), budget=40) == scheduled
    assert ids(page(redis, JobFilter("repeats"), budget=40)) == [scheduled[3]]
    found = page(redis, JobFilter("scheduled"), sample=True)
    assert (found.looked, found.repeats, found.sampled_all) == (30, 1, True)
