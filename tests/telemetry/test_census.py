from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import rq
from rq.rate_limit import RateLimit

from queueops.rdb.client import Server
from queueops.rdb.keys import Keys
from queueops.telemetry.census import Open, census

US = 1_000_000
NAMES = ["default", "a/b", "q+z", "キュー", "", "line\nbreak", "x:intermediate", "with,comma", "<b>&"]


@pytest.mark.parametrize("name", NAMES)
def test_every_place_of_a_queue_is_counted(name: str, redis: Any, server: Server, keys: Keys) -> None:
    redis.rpush(keys.of("rq_queue", name), "a", "b", "c")
    redis.rpush(keys.of("rq_queue", f"{name}:intermediate"), "d")
    redis.zadd(keys.of("parked", name), {"p1": 1, "p2": 1})
    redis.zadd(keys.of("rq_scheduled", name), {"p1": 4e9, "p2": 4e9, "s": 4e9})
    redis.zadd(keys.of("rq_deferred", name), {"e": 1})
    redis.zadd(keys.of("rq_ready", name), {"f": 1})
    redis.zadd(keys.of("rq_wip", name), {"g:1": 4e9})
    redis.zadd(keys.of("rq_failed", name), {"h": 1, "i": 1, "j": 1})
    redis.zadd(keys.of("quarantined", name), {"h": 1})
    redis.sadd(keys.static("rq_queues"), keys.of("rq_queue", name))
    found = census(server).queue(name)
    assert found is not None
    assert found.open == Open(queued=3, parked=2, scheduled=1, deferred=2, running=1, rate_limited=0, intermediate=1)
    assert found.open.total == 10
    assert (found.held.failed, found.held.quarantined) == (2, 1)


@pytest.mark.parametrize("queues", [1, 5, 50])
def test_round_trips_do_not_grow_with_queues(queues: int, redis: Any, server: Server) -> None:
    for i in range(queues):
        rq.Queue(f"q{i}", connection=redis).enqueue("os.getcwd")
    server.connection.trips = 0
    assert len(census(server).queues) == queues
    assert server.connection.trips == 3


def test_queues_come_from_settings_our_index_and_rq(redis: Any, keys: Keys) -> None:
    redis.zadd(keys.static("queues"), {"seen": 5})
    redis.sadd(keys.static("rq_queues"), keys.of("rq_queue", "rqs"), b"rq:queue:\xff\xfe", "something else")
    names = [queue.name for queue in census(Server("s", redis, ("set",))).queues]
    assert names == ["set", "seen", "rqs"]


def test_oldest_is_the_first_of_the_index(redis: Any, server: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.zadd(keys.of("waiting", "q"), {"old": now() - 90 * US, "new": now() - 5 * US})
    for job in ("old", "new"):
        redis.hset(keys.of("rq_job", job), "status", "queued")
    found = census(server).queue("q")
    assert found is not None
    assert found.oldest_job == "old"
    assert found.oldest_age == pytest.approx(90, abs=2)


@pytest.mark.parametrize("status", [None, "started", "finished", "failed", "canceled"])
def test_a_stale_head_is_passed_over_and_left_alone(
    status: str | None, redis: Any, server: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.zadd(keys.of("waiting", "q"), {"stale": now() - 900 * US, "true": now() - 5 * US})
    redis.hset(keys.of("rq_job", "true"), "status", "queued")
    if status:
        redis.hset(keys.of("rq_job", "stale"), "status", status)
    found = census(server).queue("q")
    assert found is not None
    assert found.oldest_age == pytest.approx(5, abs=2)
    assert redis.zcard(keys.of("waiting", "q")) == 2


def test_a_job_of_plain_rq_counts_from_its_enqueueing(redis: Any, server: Server, keys: Keys) -> None:
    job = rq.Queue("q", connection=redis).enqueue("os.getcwd")
    redis.hset(keys.of("rq_job", job.id), "enqueued_at", "2024-01-01T00:00:00.000000Z")
    found = census(server).queue("q")
    assert found is not None
    assert found.oldest_job == job.id
    assert found.oldest_age is not None
    assert found.oldest_age > 86_400


def test_a_due_scheduled_job_counts_from_its_due_time(
    redis: Any, server: Server, keys: Keys, now: Callable[[], int]
) -> None:
    redis.zadd(keys.static("queues"), {"q": 1, "later": 1})
    redis.zadd(keys.of("rq_scheduled", "q"), {"due": now() / US - 40})
    redis.zadd(keys.of("rq_scheduled", "later"), {"far": now() / US + 40})
    found = {queue.name: queue.oldest_age for queue in census(server).queues}
    assert found["q"] == pytest.approx(40, abs=2)
    assert found["later"] is None


def test_a_time_in_the_future_is_age_zero(redis: Any, server: Server, keys: Keys, now: Callable[[], int]) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.zadd(keys.of("waiting", "q"), {"j": now() + 500 * US})
    redis.hset(keys.of("rq_job", "j"), "status", "queued")
    found = census(server).queue("q")
    assert found is not None
    assert found.oldest_age == 0


def test_jobs_held_by_the_rate_limit_of_rq_are_placed(redis: Any, server: Server) -> None:
    queue = rq.Queue("q", connection=redis)
    for _ in range(5):
        queue.enqueue("os.getcwd", rate_limit=RateLimit("key", 2))
    moment = census(server)
    found = moment.queue("q")
    assert found is not None
    assert (found.open.queued, found.open.rate_limited) == (2, 3)
    assert moment.rate_limited_unplaced == 0


def test_more_held_jobs_than_are_looked_up_are_counted_unplaced(redis: Any, server: Server) -> None:
    queue = rq.Queue("q", connection=redis)
    for _ in range(30):
        queue.enqueue("os.getcwd", rate_limit=RateLimit("key", 1))
    moment = census(server)
    found = moment.queue("q")
    assert found is not None
    assert found.open.rate_limited + moment.rate_limited_unplaced == 29


def test_one_broken_key_does_not_take_down_the_rest(redis: Any, server: Server, keys: Keys) -> None:
    redis.zadd(keys.static("queues"), {"good": 1, "bad": 2})
    redis.set(keys.of("rq_queue", "bad"), "a string")
    redis.rpush(keys.of("rq_queue", "good"), "a")
    moment = census(server)
    good, bad = moment.queue("good"), moment.queue("bad")
    assert good is not None and good.open.queued == 1
    assert bad is not None and bad.error is not None and "WRONGTYPE" in bad.error


def test_half_a_job_hash_has_no_age(redis: Any, server: Server, keys: Keys) -> None:
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.rpush(keys.of("rq_queue", "q"), "half", b"\xff\xfe")
    redis.hset(keys.of("rq_job", "half"), mapping={"status": "queued", "enqueued_at": "soon"})
    found = census(server).queue("q")
    assert found is not None
    assert found.open.queued == 2
    assert found.oldest_age is None
