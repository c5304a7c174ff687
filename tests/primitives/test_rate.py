"""RateLimiter: the store's clock, the limit in any period, nothing charged for a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import RateLimiter
from queueops.conf import conf
from queueops.primitives import DeclarationError


def hits(limiter: RateLimiter, n: int) -> list[bool]:
    return [bool(limiter.hit()) for _ in range(n)]


def age(redis: Any, limiter: RateLimiter, seconds: float) -> None:
    """Let ``seconds`` pass for what the limiter remembers."""
    moved = round(seconds * 1_000_000)
    starts = conf.keys.of("holders", limiter.instance)
    for member, score in redis.zrange(starts, 0, -1, withscores=True):
        redis.zadd(starts, {member: int(score) - moved})
    state = conf.keys.of("rate", limiter.instance)
    for name in ("start", "at"):
        if redis.hexists(state, name):
            redis.hincrby(state, name, -moved)


@pytest.mark.parametrize("strategy", ["sliding", "window", "bucket"])
def test_no_more_than_limit_and_a_refusal_is_free(redis: Any, strategy: str) -> None:
    limiter = RateLimiter("mail", 3, 600, strategy=strategy, connection=redis)
    assert hits(limiter, 6) == [True, True, True, False, False, False]
    refused = limiter.hit()
    assert not refused.allowed and 0 < refused.retry_after <= 600
    age(redis, limiter, refused.retry_after)
    assert limiter.hit()


def test_scenario_1_three_a_minute(redis: Any) -> None:
    # a minute stretched a hundred times: a slow machine changes nothing
    limiter = RateLimiter("mail", 3, 6000, strategy="window", connection=redis)
    assert hits(limiter, 4) == [True, True, True, False]
    age(redis, limiter, 5900)
    assert not limiter.hit()
    age(redis, limiter, 100)
    assert hits(limiter, 4) == [True, True, True, False]


def test_sliding_never_lets_more_than_limit_into_any_period(redis: Any) -> None:
    limiter = RateLimiter("mail", 2, 5000, connection=redis)
    assert limiter.hit()
    age(redis, limiter, 4000)
    assert hits(limiter, 2) == [True, False]
    age(redis, limiter, 1000)
    # the first has left the period, the second has not
    assert hits(limiter, 2) == [True, False]
    assert 3900 < limiter.hit().retry_after <= 4000


def test_a_bucket_fills_at_its_rate_up_to_its_burst(redis: Any) -> None:
    limiter = RateLimiter("mail", 60, 60_000, strategy="bucket", burst=5, connection=redis)
    assert hits(limiter, 6) == [True] * 5 + [False]
    assert 900 < limiter.hit().retry_after <= 1000
    age(redis, limiter, 2000)
    assert hits(limiter, 3) == [True, True, False]
    age(redis, limiter, 3_600_000)
    assert hits(limiter, 6) == [True] * 5 + [False]


@pytest.mark.parametrize("strategy", ["sliding", "window", "bucket"])
def test_weights(redis: Any, strategy: str) -> None:
    limiter = RateLimiter("mail", 10, 600, strategy=strategy, connection=redis)
    assert limiter.hit(7)
    assert not limiter.hit(4)
    assert limiter.hit(3)
    with pytest.raises(DeclarationError, match="weight must be between 1 and 10"):
        limiter.hit(11)


def test_keys_are_independent_and_shared_with_nothing_else(redis: Any) -> None:
    for key in ("a", "b", ""):
        assert hits(RateLimiter("mail", 1, 60, key, connection=redis), 2) == [True, False]


def test_c14_a_planted_counter_is_repaired_on_sight(redis: Any) -> None:
    limiter = RateLimiter("mail", 2, 60, strategy="window", connection=redis)
    state = conf.keys.of("rate", limiter.instance)
    seconds, micros = redis.time()
    now = seconds * 1_000_000 + micros
    for start in (now + 10**12, now - 10**12, ""):
        redis.delete(state)
        redis.hset(state, mapping={"start": start, "used": 99})
        assert limiter.hit()
        assert 0 < redis.pttl(state) <= 62_000


@pytest.mark.parametrize("strategy", ["sliding", "window", "bucket"])
def test_c14_what_is_remembered_expires(redis: Any, strategy: str) -> None:
    limiter = RateLimiter("mail", 2, 60, strategy=strategy, connection=redis)
    limiter.hit()
    family = "holders" if strategy == "sliding" else "rate"
    assert 0 < redis.pttl(conf.keys.of(family, limiter.instance)) <= 62_000


def test_an_operators_limit_rules(redis: Any) -> None:
    limiter = RateLimiter("mail", 5, 60, connection=redis)
    overrides = conf.keys.static("overrides")
    redis.hset(overrides, limiter.control.id, '{"limit":0,"until":0,"by":"ann","id":"1"}')
    refused = limiter.hit()
    assert (refused.allowed, refused.retry_after) == (False, 60)
    redis.hdel(overrides, limiter.control.id)
    assert limiter.hit()


@pytest.mark.parametrize(
    "make",
    [
        lambda: RateLimiter("r", 0, 60),
        lambda: RateLimiter("r", 1, 0),
        lambda: RateLimiter("r", 1, 60, strategy="leaky"),
        lambda: RateLimiter("r", 1, 60, burst=3),
    ],
)
def test_c14_nonsense_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(DeclarationError):
        make()


def test_an_operators_limit_is_in_force_after_an_emptied_redis(
    redis: Any, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queueops.operations import limit

    monkeypatch.setattr("queueops.primitives.base._blind_until", 0.0)
    mail = RateLimiter("tests-mail", 5, 60, connection=redis)
    assert mail.hit()
    limit("rate:tests-mail", 1, actor="ann", reason="spare it")
    redis.flushdb()
    assert mail.hit() and not mail.hit(), "the first call mirrored the settings again"


def test_a_hit_is_one_round_trip_also_on_an_empty_redis_without_a_database(
    redis: Any, trips: Callable[[Callable[[], Any]], dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that cannot read the operators' settings asks for them now and then, not with every call."""
    monkeypatch.setattr("queueops.primitives.base._blind_until", 0.0)
    mail = RateLimiter("tests-mail", 5, 60, connection=redis)
    mail.hit()
    assert trips(mail.hit) == {"evalsha": 1}
