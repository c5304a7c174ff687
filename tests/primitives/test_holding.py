"""Lock and Semaphore: every hold is a lease, and a release needs proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import ProgrammingError, connection

from queueops import Lock, NotAcquired, Semaphore
from queueops.conf import conf
from queueops.primitives import DeclarationError


@pytest.fixture
def two(redis: Any) -> Semaphore:
    return Semaphore("two", 2, connection=redis)


def held(redis: Any, semaphore: Semaphore) -> int:
    return int(redis.zcard(conf.keys.of("holders", semaphore.instance)))


def test_at_most_limit_and_one_more_after_a_release(two: Semaphore) -> None:
    assert two.acquire("a", 30) and two.acquire("b", 30)
    assert two.acquire("c", 30) is None
    assert two.release("a") is True
    assert two.acquire("c", 30)
    assert two.acquire("d", 30) is None


def test_the_same_token_renews_and_takes_no_second_slot(redis: Any, two: Semaphore) -> None:
    first = two.acquire("a", 5)
    again = two.acquire("a", 50)
    assert first and again and not first.renewed and again.renewed
    assert 44 < again.until - first.until < 60
    assert held(redis, two) == 1
    assert two.release("a") and not two.release("a")


def test_scenario_16_a_holder_past_its_deadline_is_out(two: Semaphore, overdue: Any, events: Any) -> None:
    one = Lock("one", connection=two.connection)
    assert one.acquire("gone", 30)
    overdue(one, "gone")
    assert one.acquire("next", 30)
    assert one.release("gone") is False
    assert one.acquire("other", 30) is None
    assert events() == ["lock.acquired", "lock.expired", "lock.acquired", "lock.foreign_release", "lock.refused"]


def test_scenario_16_a_stranger_releases_nothing(redis: Any, two: Semaphore, events: Any) -> None:
    assert two.acquire("a", 30)
    assert two.release("stranger") is False
    assert held(redis, two) == 1
    assert events()[-1] == "semaphore.foreign_release"


def test_a_late_release_says_so(two: Semaphore, overdue: Any) -> None:
    assert two.acquire("a", 30)
    overdue(two, "a")
    assert two.release("a") is False


def test_scenario_16_without_a_ttl_there_is_no_hold(two: Semaphore) -> None:
    with pytest.raises(TypeError):
        two.acquire("a")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        two.hold()  # type: ignore[call-arg]
    for ttl in (None, 0, -1, float("inf"), float("nan"), "5", 367 * 86400):
        with pytest.raises(DeclarationError, match=r"Semaphore\('two'\): ttl must be"):
            two.acquire("a", ttl)  # type: ignore[arg-type]


def test_scenario_18_each_holder_has_its_own_end(redis: Any, two: Semaphore, overdue: Any) -> None:
    assert two.acquire("short", 2) and two.acquire("long", 60)
    overdue(two, "short")
    assert two.acquire("x", 30)
    assert two.acquire("y", 30) is None
    assert held(redis, two) == 2


def test_scenario_18_traffic_does_not_keep_a_dead_holders_slot(two: Semaphore, overdue: Any) -> None:
    assert two.acquire("dead", 5)
    for i in range(20):
        assert two.acquire(f"t{i}", 30)
        assert two.release(f"t{i}")
    overdue(two, "dead")
    assert two.acquire("a", 30) and two.acquire("b", 30)


def test_c16_a_lowered_limit_evicts_nobody(redis: Any, two: Semaphore) -> None:
    one = Semaphore("two", 1, connection=redis)
    assert two.acquire("a", 30) and two.acquire("b", 30)
    renewed = one.acquire("a", 30)
    assert renewed and renewed.renewed
    assert held(redis, two) == 2
    assert one.acquire("c", 30) is None
    assert two.release("a")
    assert one.acquire("c", 30) is None
    assert two.release("b")
    assert one.acquire("c", 30)


def test_c16_an_operators_limit_rules_and_zero_means_stop(redis: Any, two: Semaphore) -> None:
    overrides = conf.keys.static("overrides")
    redis.hset(overrides, two.control.id, '{"limit":1,"until":0,"by":"ann","id":"1"}')
    assert two.acquire("a", 30)
    assert two.acquire("b", 30) is None
    redis.hset(overrides, two.control.id, '{"limit":0,"until":0,"by":"ann","id":"2"}')
    assert two.release("a")
    assert two.acquire("b", 30) is None
    redis.hset(overrides, two.control.id, '{"limit":0,"until":1,"by":"ann","id":"3"}')
    assert two.acquire("b", 30)


def test_the_published_limit_wins_over_the_callers(redis: Any, two: Semaphore) -> None:
    redis.hset(
        conf.keys.static("controls"),
        two.control.id,
        '{"kind":"semaphore","name":"two","limit":3,"per":0,"strategy":"","burst":0,"lease":30000000}',
    )
    assert [bool(two.acquire(token, 30)) for token in "abcd"] == [True, True, True, False]


def test_keys_of_one_control_are_independent(redis: Any) -> None:
    assert Lock("shop", "a", connection=redis).acquire("t", 30)
    assert Lock("shop", "b", connection=redis).acquire("t", 30)
    assert Lock("shop", "a", connection=redis).acquire("u", 30) is None
    assert Semaphore("shop", 1, "a", connection=redis).acquire("t", 30)


def test_a_jobs_token_is_refused_and_its_hold_safe(redis: Any, two: Semaphore) -> None:
    redis.hset(conf.keys.static("leases"), "job-token", "{}")
    redis.zadd(conf.keys.of("holders", two.instance), {"job-token": 9e15})
    with pytest.raises(DeclarationError, match="belongs to a running job"):
        two.acquire("job-token", 1)
    assert two.release("job-token") is False
    assert held(redis, two) == 1


def test_hold_gives_back_whatever_the_block_does(redis: Any) -> None:
    lock = Lock("one", connection=redis)
    with lock.hold(30) as lease:
        assert lock.acquire("other", 30) is None
        assert lease.renew(60)
        with pytest.raises(NotAcquired, match=r"Lock\('one'\): no room") as caught, lock.hold(30):
            pass
        assert caught.value.retry_after and 30 < caught.value.retry_after <= 60
    with pytest.raises(ZeroDivisionError), lock.hold(30):
        _ = 1 / 0
    assert lock.acquire("other", 30)


def test_nothing_is_left_behind(redis: Any, two: Semaphore) -> None:
    with two.hold(30), two.hold(30):
        pass
    long = Lock("one", "k" * 500, connection=redis)
    with long.hold(30):
        assert redis.hvals(conf.keys.static("key_text")) == [b"k" * 500]
    history = conf.keys.of("history", "").encode()
    kept = [key for key in redis.scan_iter("*") if key != conf.keys.static("log").encode()]
    assert len(kept) == 2 and all(key.startswith(history) and redis.ttl(key) > 0 for key in kept)


def test_each_answer_is_one_round_trip(two: Semaphore, trips: Callable[..., dict[str, int]]) -> None:
    with two.hold(30):
        pass
    for call in (
        lambda: two.acquire("a", 30),
        lambda: two.acquire("a", 30),
        lambda: two.acquire("b", 30),
        lambda: two.acquire("refused", 30),
        lambda: two.release("a"),
        lambda: two.release("a"),
    ):
        assert trips(call) == {"evalsha": 1}


@pytest.mark.parametrize("token", ["", None, 5, "x" * 201, "a\nb", "\ud800"])
def test_a_token_is_text(two: Semaphore, token: Any) -> None:
    with pytest.raises(DeclarationError, match="token must be"):
        two.acquire(token, 30)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Semaphore("s", 0),
        lambda: Semaphore("s", 1.0),  # type: ignore[arg-type]
        lambda: Semaphore("", 1),
        lambda: Lock("a\x1fb"),
        lambda: Lock(None),  # type: ignore[arg-type]
        lambda: Lock("a", key=None),  # type: ignore[arg-type]
    ],
)
def test_wrong_definitions_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(DeclarationError):
        make()


def test_an_operators_limit_is_in_force_after_an_emptied_redis(
    redis: Any, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queueops.operations import limit

    monkeypatch.setattr("queueops.primitives.base._blind_until", 0.0)
    two = Semaphore("two", 2, connection=redis)
    assert two.acquire("seen", 30)
    limit("semaphore:two", 1, actor="ann", reason="spare it")
    assert two.acquire("a", 30) is None
    redis.flushdb()
    assert two.acquire("a", 30) and two.acquire("b", 30) is None, "the first call mirrored the settings again"


def test_a_database_that_fails_takes_no_transaction_of_the_caller_along(
    redis: Any, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL a failed query ends the transaction, unless it stands behind a savepoint of its own."""
    monkeypatch.setattr("queueops.primitives.base._blind_until", 0.0)
    sent: list[str] = []

    def failing(execute: Any, sql: str, *args: Any) -> Any:
        sent.append(sql.split()[0])
        if "queueops_pause" in sql:
            raise ProgrammingError("no such table")
        return execute(sql, *args)

    with connection.execute_wrapper(failing):
        assert Lock("one", connection=redis).acquire("a", 30)
    assert sent == ["SAVEPOINT", "SELECT", "ROLLBACK", "RELEASE"]


def test_without_a_database_the_declared_limit_holds(redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(server: Any) -> int:
        raise OSError("no database")

    monkeypatch.setattr("queueops.mirror.rebuild", cut)
    monkeypatch.setattr("queueops.primitives.base._blind_until", 0.0)
    one = Lock("one", connection=redis)
    assert one.acquire("a", 30) and one.acquire("b", 30) is None
