from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import rq

from queueops.rdb.client import Server
from queueops.rdb.keys import SEP, Keys
from queueops.telemetry.snapshot import dumps, latest, new_memory, snapshot

US = 1_000_000
QUEUE_FIELDS = {
    "name",
    "max_age",
    "oldest_age",
    "open",
    "held",
    "inflow_per_min",
    "completed_per_min",
    "failed_per_min",
    "paused",
    "workers",
    "spark",
}


@pytest.mark.parametrize("queues", [5, 50])
def test_round_trips_are_three_however_many_queues(queues: int, redis: Any, mirrored: Server) -> None:
    for i in range(queues):
        rq.Queue(f"q{i}", connection=redis).enqueue("os.getcwd")
    for i in range(queues):
        redis.sadd("rq:workers", f"rq:worker:w{i}")
    mirrored.connection.trips = 0
    made = snapshot(mirrored)
    assert len(made["queues"]) == queues
    assert mirrored.connection.trips == 3


def test_the_shape(redis: Any, mirrored: Server) -> None:
    rq.Queue("q", connection=redis).enqueue("os.getcwd")
    made = json.loads(dumps(snapshot(mirrored, seq=7)))
    assert (made["v"], made["seq"], made["server"]) == (1, 7, "test")
    assert made["at"] > US * US
    (queue,) = made["queues"]
    assert queue.keys() >= QUEUE_FIELDS
    assert queue["open"] == {
        "queued": 1, "parked": 0, "scheduled": 0, "deferred": 0, "running": 0, "rate_limited": 0, "intermediate": 0,
    }  # fmt: skip
    assert len(queue["spark"]["in"]) == len(queue["spark"]["out"]) == 60
    assert made["totals"]["waiting"] == 1
    assert made["totals"]["oldest_queue"] == "q"


def test_an_empty_redis_is_unknown_not_ok(server: Server) -> None:
    made = snapshot(server)
    assert (made["level"], made["healthy"]) == ("unknown", False)


def test_without_a_monitor_it_is_unknown(server: Server) -> None:
    made, age = latest(server)
    assert (made["level"], age) == ("unknown", None)
    assert made["queues"] == []


def test_the_newest_is_read_in_one_trip_with_its_age(mirrored: Server, keys: Keys) -> None:
    made = snapshot(mirrored, seq=3)
    made["at"] -= 4 * US
    mirrored.connection.set(keys.static("snapshot"), dumps(made))
    mirrored.connection.trips = 0
    got, age = latest(mirrored)
    assert got["seq"] == 3
    assert age == pytest.approx(4, abs=1)
    assert mirrored.connection.trips == 1


def test_a_late_queue_is_named_in_the_sentence(
    redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.zadd(keys.static("queues"), {"courier": 1, "calm": 1})
    redis.zadd(keys.of("waiting", "courier"), {"j": now() - 11 * 60 * US})
    redis.hset(keys.of("rq_job", "j"), "status", "queued")
    made = snapshot(mirrored)
    assert made["health"] == "Unhealthy: courier is 11 min behind."
    assert made["level"] == "bad"
    assert made["needs"][0]["kind"] == "late"
    assert made["needs"][0]["href"] == "/queues/?name=courier"


def test_hostile_names_stay_inside_quotes_and_json(
    redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]
) -> None:
    name = '</script><b>"\n\u202e ' + "x" * 300
    redis.zadd(keys.static("queues"), {name: 1})
    redis.zadd(keys.of("waiting", name), {"j": now() - 11 * 60 * US})
    redis.hset(keys.of("rq_job", "j"), "status", "queued")
    made = json.loads(dumps(snapshot(mirrored)))
    assert made["queues"][0]["name"] == name
    assert "\n" not in made["health"]
    assert "\u202e" not in made["health"]
    assert len(made["health"]) < 200
    assert "\n" not in made["needs"][0]["href"]


def test_pauses_and_limits_stand_in_the_banner_until_their_end(
    redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.zadd(keys.static("queues"), {"a": 1, "b": 1, "c": 1})
    later, earlier = now() + 60 * US, now() - US
    entry = {"by": "kim", "reason": "courier is down", "id": "1"}
    redis.hset(
        keys.static("paused"),
        mapping={
            "q:a": json.dumps({**entry, "until": later}),
            "q:b": json.dumps({**entry, "until": earlier}),
            "f:app.f": json.dumps({**entry, "until": 0}),
            "q:broken": "{",
        },
    )
    redis.hset(keys.static("overrides"), "S:s3", json.dumps({**entry, "limit": 2, "until": 0}))
    redis.set(keys.static("rq_suspended"), 1)
    made = snapshot(mirrored)
    paused = {queue["name"]: queue["paused"] for queue in made["queues"]}
    assert paused["a"] == {"until": later, "by": "kim", "reason": "courier is down"}
    assert paused["b"] is None
    assert {(n["kind"], n["target"]) for n in made["banner"]} >= {
        ("pause", "q:a"),
        ("pause", "f:app.f"),
        ("limit", "S:s3"),
        ("suspended", "all"),
    }
    assert ("pause", "q:b") not in {(n["kind"], n["target"]) for n in made["banner"]}


def test_a_general_pause_holds_every_queue(redis: Any, mirrored: Server, keys: Keys) -> None:
    redis.zadd(keys.static("queues"), {"a": 1})
    redis.hset(keys.static("paused"), "all", json.dumps({"until": 0, "by": "kim", "reason": "r"}))
    assert snapshot(mirrored)["queues"][0]["paused"]["by"] == "kim"


def test_a_paused_late_queue_is_held_on_purpose(
    redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.rpush(keys.of("rq_queue", "q"), "j")
    redis.zadd(keys.of("waiting", "q"), {"j": now() - 3600 * US})
    redis.hset(keys.of("rq_job", "j"), "status", "queued")
    redis.hset(keys.static("paused"), "q:q", json.dumps({"until": 0, "by": "kim", "reason": "r"}))
    redis.hset(keys.of("rq_worker", "w"), mapping={"state": "idle", "queues": "q"})
    redis.zadd(keys.static("workers"), {"w": now()})
    made = snapshot(mirrored)
    assert made["level"] == "warn"
    assert made["health"] == "On time, except what is paused: q."


def test_rates_come_from_the_buckets(redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.set(keys.static("counting_since"), now() - 7200 * US)
    ten = now() // US // 10 * 10
    for start in range(ten - 60, ten, 10):
        redis.hset(
            keys.of("ten", str(start)),
            mapping={f"q{SEP}accepted": 30, f"q{SEP}replayed": 10, f"q{SEP}completed": 20, f"q{SEP}failed_attempt": 5},
        )
    (queue,) = snapshot(mirrored)["queues"]
    # up to 10 s of the current bucket count as time with nothing
    assert 200 <= queue["inflow_per_min"] <= 240
    assert 100 <= queue["completed_per_min"] <= 120
    assert queue["failed_per_min"] == 0
    assert queue["spark"]["in"][-1] == 240


def test_silent_and_serving_workers(redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.zadd(keys.static("queues"), {"q": 1, "with,comma": 1, "other": 1})
    for name, state, queues in (
        ("busy", "busy", "q,with,comma"),
        ("idle", "idle", "with,comma"),
        ("quiet", "busy", "q"),
    ):
        redis.hset(keys.of("rq_worker", name), mapping={"state": state, "queues": queues})
        redis.sadd(keys.static("rq_workers"), keys.of("rq_worker", name))
    redis.zadd(keys.static("workers"), {"busy": now(), "idle": now(), "quiet": now() - 120 * US})
    made = snapshot(mirrored)
    assert {k: made["workers"][k] for k in ("busy", "idle", "silent")} == {"busy": 1, "idle": 1, "silent": 1}
    serving = {queue["name"]: queue["workers"] for queue in made["queues"]}
    assert serving == {
        "q": {"busy": 1, "idle": 0},
        "with,comma": {"busy": 1, "idle": 1},
        "other": {"busy": 0, "idle": 0},
    }
    assert any("quiet" in need["text"] and "2 min" in need["text"] for need in made["needs"])


def test_jobs_without_any_worker_need_somebody(
    redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.zadd(keys.static("queues"), {"low": 1})
    redis.rpush(keys.of("rq_queue", "low"), "j")
    redis.zadd(keys.of("waiting", "low"), {"j": now() - 30 * US})
    redis.hset(keys.of("rq_job", "j"), "status", "queued")
    made = snapshot(mirrored)
    assert made["level"] == "bad"
    assert "no worker is alive" in made["health"]


def test_full_controls_and_waiting_jobs(redis: Any, mirrored: Server, keys: Keys) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.zadd(keys.static("instances"), {f"L:a{SEP}1": 1, f"S:b{SEP}": 2, f"S:c{SEP}": 3})
    redis.hset(keys.static("controls"), mapping={"S:b": json.dumps({"limit": 2}), "S:c": json.dumps({"limit": 2})})
    redis.hset(keys.static("overrides"), "S:c", json.dumps({"limit": 1, "until": 0}))
    for instance in (f"L:a{SEP}1", f"S:b{SEP}", f"S:c{SEP}"):
        redis.zadd(keys.of("holders", instance), {"t": 4e15})
        redis.zadd(keys.of("line", instance), {"p1": 1})
    redis.zadd(keys.of("parked", "q"), {"p1": 1, "p2": 2})
    made = snapshot(mirrored)
    # somebody waits for each; full are the lock, and the semaphore whose limit was lowered to 1
    assert made["controls"]["full"] == 2
    assert made["controls"]["waiting"] == 2


def test_the_state_of_the_monitor_is_judged(redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    states = {
        "copy_quarantine": {"at": now(), "every": 1, "error": "OperationalError: database is locked"},
        "trim": {"at": now() - 900 * US, "every": 30, "error": ""},
        "redis_config": {"at": now(), "every": 120, "error": "", "warnings": ["maxmemory-policy is allkeys-lru"]},
        "seq": 12,
    }
    redis.hset(keys.static("monitor_state"), mapping={k: json.dumps(v) for k, v in states.items()})
    texts = [need["text"] for need in snapshot(mirrored)["needs"]]
    assert any("copy_quarantine fails" in text for text in texts)
    assert any("trim has not run for 15 min" in text for text in texts)
    assert "maxmemory-policy is allkeys-lru" in texts


def test_jobs_of_plain_rq_count_as_inflow(redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.set(keys.static("counting_since"), now() - 7200 * US)
    redis.zadd(keys.static("queues"), {"q": 1})
    memory = new_memory()
    snapshot(mirrored, memory=memory)
    for _ in range(12):
        rq.Queue("q", connection=redis).enqueue("os.getcwd")
    (queue,) = snapshot(mirrored, memory=memory)["queues"]
    assert 9 <= queue["uncounted_per_min"] <= 12
    assert queue["inflow_per_min"] == queue["uncounted_per_min"]
    assert snapshot(mirrored)["queues"][0]["uncounted_per_min"] == 0


def test_jobs_deleted_behind_our_back_are_no_negative_inflow(
    redis: Any, mirrored: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.set(keys.static("counting_since"), now() - 7200 * US)
    redis.zadd(keys.static("queues"), {"q": 1})
    jobs = [rq.Queue("q", connection=redis).enqueue("os.getcwd") for _ in range(5)]
    memory = new_memory()
    snapshot(mirrored, memory=memory)
    for job in jobs:
        job.delete()
    (queue,) = snapshot(mirrored, memory=memory)["queues"]
    assert (queue["uncounted_per_min"], queue["inflow_per_min"]) == (0, 0)
    assert queue["completed_per_min"] == 0


def test_a_full_server_is_read_and_said_to_be_full(redis: Any, mirrored: Server, keys: Keys) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.config_set("maxmemory", 1)
    try:
        made = snapshot(mirrored)
    finally:
        redis.config_set("maxmemory", 0)
    assert [queue["name"] for queue in made["queues"]] == ["q"]
    assert made["level"] == "bad" and made["needs"][0]["text"].startswith("Redis is full")
