"""Pages: bounded round trips, keysets, hostile text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from queueops.rdb.client import Server
from queueops.rdb.keys import SEP, Keys
from queueops.telemetry import controls, functions, lines, workers

US = 1_000_000


def test_control_pages_and_search(redis: Any, server: Server, keys: Keys) -> None:
    redis.zadd(keys.static("instances"), {f"L:book{SEP}{i}": i for i in range(250)})
    redis.zadd(keys.static("instances"), {f"S:s3{SEP}": 1000, f"L:long{SEP}#1": -1})
    redis.hset(keys.static("key_text"), f"L:long{SEP}#1", "a Very long key")
    redis.zadd(keys.of("holders", f"L:book{SEP}7"), {"token": 4e15})
    controls.page(server)  # the server learns the script
    server.connection.trips = 0
    page = controls.page(server)
    assert server.connection.trips == 2
    assert page.rows[0].name == "s3"
    assert page.rows[0].limit is None and not page.rows[0].full
    assert (page.known, page.next) == (252, 100)
    assert len(controls.page(server, offset=200).rows) == 52
    (found,) = controls.page(server, search=f"BOOK{SEP}77").rows
    assert found.key == "77"
    assert [row.key_text for row in controls.page(server, search="very LONG").rows] == ["a Very long key"]
    (held,) = [row for row in controls.page(server, control="L:book", size=250).rows if row.holders]
    assert (held.key, held.full, held.limit) == ("7", True, 1)
    assert [row.kind for row in controls.page(server, kind="semaphore").rows] == ["semaphore"]


def test_what_jobs_wait_for_comes_first_however_long_ago_it_changed(redis: Any, server: Server, keys: Keys) -> None:
    redis.zadd(keys.static("instances"), {f"L:book{SEP}{i}": i for i in range(500)})
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.zadd(keys.of("parked", "q"), {"j": 1})
    redis.hset(keys.of("rq_job", "j"), "qo_parked", f"L:book{SEP}3")
    redis.zadd(keys.of("line", f"L:book{SEP}3"), {"j": 1})
    page = controls.page(server, control="L:book", size=2)
    assert [(row.key, row.waiters) for row in page.rows] == [("3", 1), ("499", 0)]
    assert [(line.control, line.waiting) for line in lines.lines(server).rows] == [("L:book", 1)]


def test_a_control_in_detail(redis: Any, server: Server, keys: Keys, now: Callable[[], int]) -> None:
    instance = f"S:s3{SEP}"
    redis.hset(keys.static("controls"), "S:s3", json.dumps({"kind": "semaphore", "limit": 4}))
    redis.zadd(keys.of("holders", instance), {"t1": now() + 20 * US, "t2": now() + 10 * US})
    redis.hset(keys.of("holder_weights", instance), mapping={"t1": 2, "": 1})
    lease = {"job": "j1", "queue": "q", "function": "app.f", "worker": "w", "started": now() - 5 * US}
    redis.hset(keys.static("leases"), "t1", json.dumps(lease))
    redis.zadd(keys.of("line", instance), {"j2": now() - 60 * US, "j3": now() - 30 * US})
    redis.hset(keys.of("rq_job", "j2"), mapping={"origin": "q", "qo_func": "app.g"})
    redis.zadd(keys.of("offers", instance), {"j2": now() + US})
    controls.detail(server, instance)
    server.connection.trips = 0
    got = controls.detail(server, instance)
    assert server.connection.trips == 1
    assert (got.info.used, got.info.limit, got.info.full, got.info.waiters) == (3, 4, True, 2)
    holders = {holder.token: holder for holder in got.holders}
    assert (holders["t1"].job, holders["t1"].weight, holders["t1"].orphan) == ("j1", 2, False)
    assert holders["t1"].held == pytest.approx(5, abs=1)
    assert holders["t1"].left == pytest.approx(20, abs=1)
    assert holders["t2"].orphan
    assert [(w.place, w.job, w.offered, w.function) for w in got.waiters] == [
        (1, "j2", True, "app.g"),
        (2, "j3", False, None),
    ]
    assert got.info.oldest_wait == pytest.approx(60, abs=1)


@pytest.mark.parametrize(
    ("strategy", "state", "used"),
    [
        ("sliding", {}, 2),
        ("window", {"start": -30, "used": 3}, 3),
        ("window", {"start": -90, "used": 3}, 0),
        ("bucket", {"level": 1, "at": 0}, 4),
        ("bucket", {"level": 1, "at": -24}, 2),
        ("bucket", {}, 0),
    ],
)
def test_rates_are_used_as_their_strategy_counts(
    strategy: str, state: dict[str, int], used: int, redis: Any, server: Server, keys: Keys, now: Callable[[], int]
) -> None:
    instance, at = f"R:mail{SEP}", now()
    definition = {"limit": 5, "per": 60 * US, "strategy": strategy, "burst": 5}
    redis.hset(keys.static("controls"), "R:mail", json.dumps(definition))
    redis.zadd(keys.of("holders", instance), {"a": at - 90 * US, "b": at - 50 * US, "c": at - 10 * US})
    for name, value in state.items():
        redis.hset(keys.of("rate", instance), name, at + value * US if name in ("start", "at") else value)
    assert controls.detail(server, instance).info.used == pytest.approx(used, abs=0.2)


def test_worker_pages(redis: Any, server: Server, keys: Keys, now: Callable[[], int]) -> None:
    for i in range(150):
        redis.sadd(keys.static("rq_workers"), keys.of("rq_worker", f"w{i:03}"))
        redis.hset(keys.of("rq_worker", f"w{i:03}"), mapping={"state": "idle", "queues": "q", "pid": i})
        redis.zadd(keys.static("workers"), {f"w{i:03}": now()})
    redis.hset(keys.of("rq_worker", "w007"), "state", "busy")
    redis.sadd(keys.of("rq_worker", "w007:executions"), "job-1:token-1")
    lease = {"job": "job-1", "function": "app.f", "started": now() - 9 * US}
    redis.hset(keys.static("leases"), "token-1", json.dumps(lease))
    workers.page(server)  # the server learns the script
    server.connection.trips = 0
    page = workers.page(server)
    assert server.connection.trips == 1
    assert (len(page.rows), page.next) == (100, "w099")
    assert (page.counts.busy, page.counts.idle) == (1, 149)
    (busy,) = workers.page(server, state="busy").rows
    assert (busy.name, busy.job, busy.function) == ("w007", "job-1", "app.f")
    assert busy.job_age == pytest.approx(9, abs=1)
    assert len(workers.page(server, after="w099").rows) == 50


def test_a_registered_worker_without_a_hash_is_silent_and_gone(redis: Any, server: Server, keys: Keys) -> None:
    redis.sadd(keys.static("rq_workers"), keys.of("rq_worker", "dead"))
    (row,) = workers.page(server).rows
    assert (row.state, row.gone, row.quiet) == ("silent", True, None)


def test_functions_of_a_queue(redis: Any, server: Server, keys: Keys, now: Callable[[], int]) -> None:
    at = now()
    minute = at // US // 60 * 60
    seen = {f"q{SEP}app.f": at, f"q{SEP}app.g": at - 60 * US, f"other{SEP}app.f": at, f"q{SEP}app.old": at - 3600 * US}
    redis.zadd(keys.static("functions"), seen)
    redis.set(keys.static("epoch"), "e")
    redis.set(keys.static("counting_since"), (minute - 120) * US)
    for start in (minute, minute - 60):
        fields = {"accepted": 6, "completed": 5, "w10": 5, "wt": 100, "r20": 5, "rt": 5_000_000, "woken": 1}
        redis.hset(keys.of("minute", f"{start}{SEP}q{SEP}app.f"), mapping=fields)
    functions.page(server)  # the server learns the script
    server.connection.trips = 0
    page = functions.page(server, queue="q", minutes=6)
    assert server.connection.trips == 1
    assert [row.function for row in page.rows] == ["app.f", "app.g"] and page.matching == 2
    found = page.rows[0]
    assert found.counts["completed"] >= 5 and found.counts["woken"] >= 1
    assert found.ran.mean == pytest.approx(1.0)
    assert found.arrived == sum(v or 0 for v in found.inflow) >= 6
    assert found.inflow[0] is None and found.completed[:1] == (None,), "before counting began nothing is known"
    assert [row.function for row in functions.page(server, search="APP.G").rows] == ["app.g"]
    (row,) = functions.page(server, queue="q", size=1).rows
    assert row.function == "app.f"


def test_a_worker_that_signed_off_is_not_silent(redis: Any, server: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.zadd(keys.static("workers"), {"ended": now() - 60 * US, "ending": now() - US, "killed": now() - 60 * US})
    redis.hset(keys.of("rq_worker", "ending"), mapping={"state": "idle", "death": "2025-01-01T00:00:00Z"})
    redis.sadd(keys.static("rq_workers"), keys.of("rq_worker", "killed"))
    assert [(row.name, row.state) for row in workers.page(server).rows] == [("killed", "silent")]
