"""Helpers for the store's clock: nothing sleeps for a lease to end; its end is moved into the past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops.conf import conf
from queueops.primitives.base import Primitive


@pytest.fixture
def overdue(redis: Any) -> Callable[[Primitive, str], None]:
    """``overdue(primitive, token)``: the lease of ``token`` ended ten seconds ago."""

    def end(primitive: Primitive, token: str) -> None:
        seconds, micros = redis.time()
        past = (seconds - 10) * 1_000_000 + micros
        assert redis.zadd(conf.keys.of("holders", primitive.instance), {token: past}, xx=True, ch=True) == 1

    return end


@pytest.fixture
def events(redis: Any) -> Callable[[], list[str]]:
    """The changelog's events, oldest first."""
    return lambda: [fields[b"e"].decode() for _, fields in redis.xrange(conf.keys.static("log"))]


@pytest.fixture
def trips(redis: Any) -> Callable[[Callable[[], Any]], dict[str, int]]:
    """``trips(call)``: how often the call sent each command that scripts themselves cannot send."""

    def sent() -> dict[str, int]:
        stats = redis.info("commandstats")
        return {name: stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("evalsha", "eval", "blpop")}

    def count(call: Callable[[], Any]) -> dict[str, int]:
        before = sent()
        call()
        return {name: n - before[name] for name, n in sent().items() if n != before[name]}

    return count
