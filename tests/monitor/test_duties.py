"""Each duty by itself, on a real Redis."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis as redis_py
import rq
from rq.rate_limit import RateLimit

from queueops.monitor.duties import (
    mend,
    mirror,
    pass_time,
    redis_config,
    rq_rate_limits,
    sample,
    take_snapshot,
    tidy_waiting,
    trim,
)
from queueops.monitor.duty import Context, Duty
from queueops.rdb.client import Server
from queueops.rdb.keys import SEP, Keys
from queueops.telemetry.samples import ledger_of


def test_a_failing_duty_is_named_and_does_not_stop_the_others(context: Context, keys: Keys) -> None:
    def fails(context: Context) -> None:
        raise ValueError("no luck")

    ran: list[int] = []
    Duty("broken", 1, fails).perform(context)
    Duty("fine", 1, lambda context: ran.append(1)).perform(context)
    states = {k.decode(): json.loads(v) for k, v in context.connection.hgetall(keys.static("monitor_state")).items()}
    assert states["broken"]["error"] == "ValueError: no luck"
    assert states["fine"]["error"] == ""
    assert states["fine"]["at"] > 10**15
    assert ran


def test_an_unreachable_redis_is_not_the_fault_of_a_duty(context: Context) -> None:
    def cut(context: Context) -> None:
        raise redis_py.exceptions.ConnectionError("gone")

    duty = Duty("any", 1, cut)
    with pytest.raises(redis_py.exceptions.ConnectionError):
        duty.perform(context)
    assert duty.failures == 0


def test_snapshot_is_stored_with_an_end_and_published(context: Context, keys: Keys) -> None:
    listener = context.connection.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(keys.static("snapshot_channel"))
    listener.get_message(timeout=1)
    assert take_snapshot.act(context)["shown"]
    made = json.loads(context.connection.get(keys.static("snapshot")))
    assert made["v"] == 1
    assert 0 < context.connection.pttl(keys.static("snapshot")) <= 10_000
    message = listener.get_message(timeout=5)
    assert message is not None
    assert json.loads(message["data"])["seq"] == made["seq"] == context.lead.seq
    listener.close()


def test_mirror_is_rebuilt_only_when_its_epoch_is_missing(context: Context, keys: Keys) -> None:
    assert mirror.act(context) is None
    context.connection.flushall()
    assert mirror.act(context) is not None
    assert context.connection.exists(keys.static("epoch"))


def test_stale_heads_are_removed_and_true_ones_stay(context: Context, keys: Keys) -> None:
    redis = context.connection
    redis.zadd(keys.static("queues"), {"q": 1, "a/b": 1})
    redis.zadd(keys.of("waiting", "q"), {"gone": 1, "done": 2, "running": 3, "true": 4, "parked": 5})
    for job, status in {"done": "finished", "running": "started", "true": "queued", "parked": "scheduled"}.items():
        redis.hset(keys.of("rq_job", job), "status", status)
    assert tidy_waiting.act(context) == {"checked": 5, "removed": 3}
    assert redis.zrange(keys.of("waiting", "q"), 0, -1) == [b"true", b"parked"]


def test_many_stale_heads_take_several_rounds(context: Context, keys: Keys) -> None:
    redis = context.connection
    redis.zadd(keys.static("queues"), {"q": 1})
    redis.zadd(keys.of("waiting", "q"), {f"j{i}": i for i in range(50)})
    assert tidy_waiting.act(context)["removed"] == 20
    assert tidy_waiting.act(context)["removed"] == 20
    assert tidy_waiting.act(context)["removed"] == 10


def test_trim_forgets_what_is_empty_and_nothing_else(context: Context, keys: Keys) -> None:
    redis = context.connection
    redis.zadd(keys.static("instances"), {f"L:a{SEP}{i}": i for i in range(1200)})
    for i in range(0, 1200, 3):
        redis.zadd(keys.of("holders", f"L:a{SEP}{i}"), {"t": 4e15})
    redis.zadd(keys.of("line", f"L:a{SEP}1"), {"job": 1})
    done = trim.act(context)
    assert done["forgotten"] == 799
    assert redis.zcard(keys.static("instances")) == 401
    assert redis.zscore(keys.static("instances"), f"L:a{SEP}1") is not None
    assert redis.zcard(keys.of("holders", f"L:a{SEP}0")) == 1


def test_trim_forgets_workers_unheard_of(context: Context, keys: Keys) -> None:
    redis = context.connection
    seconds = redis.time()[0]
    redis.zadd(keys.static("workers"), {"dead": (seconds - 700) * 10**6, "quiet": (seconds - 100) * 10**6})
    redis.hset(keys.static("worker_queues"), "dead", json.dumps(["q"]))
    redis.zadd(keys.of("idle", "q"), {"dead": 1})
    assert trim.act(context)["workers"] == 1
    assert redis.zrange(keys.static("workers"), 0, -1) == [b"quiet"]
    assert not redis.exists(keys.of("idle", "q"), keys.static("worker_queues"))


def test_trim_caps_old_names(context: Context, keys: Keys) -> None:
    redis = context.connection
    now = redis.time()[0] * 10**6
    redis.zadd(keys.static("functions"), {f"q{SEP}f{i}": now - i for i in range(5_010)})
    redis.zadd(keys.static("functions"), {f"q{SEP}old": 1})
    redis.zadd(keys.static("queues"), {"old": 1, "new": now})
    trim.act(context)
    assert redis.zcard(keys.static("functions")) == 5_000
    assert redis.zscore(keys.static("functions"), f"q{SEP}f0") is not None
    assert redis.zrange(keys.static("queues"), 0, -1) == [b"new"]


def test_time_passes_without_workers(context: Context, keys: Keys) -> None:
    redis = context.connection
    context.server = Server("test", redis, ("q",))
    job = rq.Queue("q", connection=redis).create_job("os.getcwd", status=rq.job.JobStatus.SCHEDULED)
    job.save()
    redis.zadd(keys.of("rq_scheduled", "q"), {job.id: redis.time()[0] - 5})
    assert pass_time.act(context)["moved"] == 1
    assert redis.lrange(keys.of("rq_queue", "q"), 0, -1) == [job.id.encode()]


def test_due_jobs_under_the_rate_limit_of_rq_reach_it(context: Context, keys: Keys) -> None:
    redis = context.connection
    context.server = Server("test", redis, ("q",))
    queue = rq.Queue("q", connection=redis)
    jobs = []
    for _ in range(3):
        job = queue.create_job("os.getcwd", rate_limit=RateLimit("key", 2), status=rq.job.JobStatus.SCHEDULED)
        job.save()
        redis.zadd(keys.of("rq_scheduled", "q"), {job.id: redis.time()[0] - 5})
        jobs.append(job)
    later = queue.create_job("os.getcwd", rate_limit=RateLimit("key", 2), status=rq.job.JobStatus.SCHEDULED)
    later.save()
    redis.zadd(keys.of("rq_scheduled", "q"), {later.id: redis.time()[0] + 50})
    assert rq_rate_limits.act(context) == {"moved": 3}
    assert sorted(str(job.get_status()) for job in jobs) == [
        "JobStatus.QUEUED",
        "JobStatus.QUEUED",
        "JobStatus.RATE_LIMITED",
    ]
    assert redis.llen(keys.of("rq_queue", "q")) == 2
    assert redis.zrange(keys.of("rq_scheduled", "q"), 0, -1) == [later.id.encode()]
    assert rq_rate_limits.act(context) == {"moved": 0}


def test_samples_make_a_ledger(context: Context, keys: Keys) -> None:
    redis = context.connection
    redis.zadd(keys.static("queues"), {"q": 1})
    sample.act(context)
    rq.Queue("q", connection=redis).enqueue("os.getcwd")
    sample.act(context)
    found = ledger_of(redis.lrange(keys.static("samples"), 0, 9), "q")
    assert found and (found.queue, found.before, found.after, found.remainder) == ("q", 0, 1, 1)
    for _ in range(65):
        sample.act(context)
    assert redis.llen(keys.static("samples")) == 60


@pytest.mark.parametrize("samples", [[], [b"{}"], [b"{}", b"{}"], [b"no json", b"[1]"]])
def test_without_two_samples_nothing_is_said(samples: list[bytes]) -> None:
    assert ledger_of(samples, "q") is None


class TestRedisConfig:
    """C21: a Redis that may evict is a standing warning; what cannot be asked is unknown."""

    @pytest.fixture
    def strict(self, own_server: Any, context: Context) -> Context:
        context.server = Server("own", redis_py.Redis.from_url(own_server.url), ())
        return context

    def test_noeviction_is_fine(self, strict: Context) -> None:
        strict.connection.config_set("maxmemory-policy", "noeviction")
        done = redis_config.act(strict)
        assert (done["policy"], done["warnings"]) == ("noeviction", [])

    @pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru"])
    def test_a_policy_that_evicts_warns(self, policy: str, strict: Context) -> None:
        strict.connection.config_set("maxmemory-policy", policy)
        strict.connection.config_set("maxmemory", "100mb")
        (warning,) = redis_config.act(strict)["warnings"]
        assert policy in warning
        assert "locks" in warning

    def test_evictions_since_the_last_look_are_reported(self, strict: Context) -> None:
        strict.connection.config_set("maxmemory-policy", "allkeys-lru")
        redis_config.act(strict)
        used = strict.connection.info("memory")["used_memory"]
        strict.connection.config_set("maxmemory", used + 500_000)
        for i in range(200):
            strict.connection.set(f"cache:{i}", "x" * 10_000)
        assert any("has evicted" in warning for warning in redis_config.act(strict)["warnings"])

    def test_forbidden_config_is_unknown(self, own_server: Any, strict: Context) -> None:
        strict.connection.acl_setuser(
            "limited", enabled=True, passwords=["+pw"], categories=["+@all"], commands=["-config", "-info"], keys=["*"]
        )
        limited = redis_py.Redis.from_url(own_server.url, username="limited", password="pw")
        strict.server = Server("own", limited, ())
        done = redis_config.act(strict)
        assert (done["policy"], done["evicted"], done["warnings"]) == ("unknown", None, [])


def test_c08_a_changelog_follows_its_cap_and_is_emptied_when_off(context: Context, keys: Keys, settings: Any) -> None:
    for n in range(50):
        context.connection.xadd(keys.static("log"), {"e": "job.started", "job": str(n)})
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CHANGELOG_LENGTH": 7}
    trim.act(context)
    assert context.connection.xlen(keys.static("log")) == 7
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CHANGELOG_LENGTH": 0}
    trim.act(context)
    assert not context.connection.exists(keys.static("log"))


def test_keys_of_another_type_are_set_aside(context: Context, keys: Keys) -> None:
    assert mend.act(context) == {"set_aside": []}
    for name in ("pump", "log", "monitor_state"):
        context.connection.set(keys.static(name), "planted")
    assert mend.act(context) == {"set_aside": [keys.static(name) for name in ("pump", "log", "monitor_state")]}
    assert context.connection.get(keys.of("aside", keys.static("pump"))) == b"planted"
