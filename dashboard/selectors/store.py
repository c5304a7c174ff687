"""One pipelined read from one Redis server, and what a page gets when that server does not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from queueops.conf import conf
from queueops.rdb.client import Server
from queueops.rdb.keys import Keys

HOLD_DOWN = 1.0
"""Seconds for which a server that just failed is not asked again, so that a page waits for one timeout only."""

KNOCK = 0.8
"""Seconds that a server has to say that it is there, before a page asks it for more."""
HEARD = 2.0
"""Seconds for which a server that has answered is not asked that."""

_down: dict[str, tuple[float, str]] = {}
_heard: dict[str, float] = {}
_knockers: dict[tuple[str, int], redis.Redis] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Down:
    """A server that does not answer."""

    alias: str
    queues: tuple[str, ...]
    why: str


class StoreDown(Exception):
    """Raised by :func:`ask`; the page shows the panel of :attr:`down` instead of its data."""

    def __init__(self, down: Down) -> None:
        super().__init__(down.why)
        self.down = down


def keys() -> Keys:
    """The key builder of this project's prefix."""
    return conf.keys


def ask(server: Server, fill: Callable[[Any], None]) -> list[Any]:
    """One round trip: ``fill`` queues commands on a pipeline. A failed command's answer is its ``ResponseError``."""
    with guard(server):
        pipe = server.connection.pipeline(transaction=False)
        fill(pipe)
        if not len(pipe):
            return []
        answers: list[Any] = pipe.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, RedisError) and not isinstance(answer, ResponseError):
                raise answer
            if isinstance(answer, ResponseError) and str(answer).startswith(("LOADING", "MASTERDOWN", "NOAUTH")):
                raise RedisConnectionError(str(answer))
        return answers


@contextmanager
def guard(server: Server) -> Iterator[None]:
    """Turns a connection error of ``server`` into :class:`StoreDown`, at once when it failed a moment ago."""
    with _lock:
        since, why = _down.get(server.alias, (0.0, ""))
    if since and time.monotonic() - since < HOLD_DOWN:
        raise StoreDown(Down(server.alias, tuple(server.queues), why))
    try:
        if time.monotonic() - _heard.get(server.alias, -HEARD) >= HEARD:
            _knock(server)
        yield
    except (RedisError, OSError) as error:
        said = str(error).rstrip(". ")
        why = f"{type(error).__name__}: {said}" if said else type(error).__name__
        with _lock:
            _down[server.alias] = (time.monotonic(), why)
            _heard.pop(server.alias, None)
        raise StoreDown(Down(server.alias, tuple(server.queues), why)) from error
    with _lock:
        _down.pop(server.alias, None)
        _heard[server.alias] = time.monotonic()


def _knock(server: Server) -> None:
    """Ask for a sign of life on a connection that waits :data:`KNOCK` only: a server that accepts and never answers
    would else cost a page the timeout of the settings. Raises ``RedisError``.
    """
    pool = server.connection.connection_pool
    if type(pool) is not redis.ConnectionPool:
        return
    with _lock:
        knocker = _knockers.get((server.alias, id(pool)))
    if knocker is None:
        kwargs = {**pool.connection_kwargs, "socket_timeout": KNOCK, "socket_connect_timeout": KNOCK, "retry": None}
        knocker = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=pool.connection_class, **kwargs))
        with _lock:
            _knockers[server.alias, id(pool)] = knocker
    try:
        knocker.ping()
    except ResponseError:
        return  # an answer, too


def forget() -> None:
    """Drop what is remembered about servers that failed, and those that answered."""
    with _lock:
        _down.clear()
        _heard.clear()
        _knockers.clear()


def text(value: Any, default: str = "") -> str:
    """A Redis answer as text; bytes that are not UTF-8 are shown as escapes, a failed command as nothing."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else default


def number(value: Any, default: int = 0) -> int:
    """A Redis answer as an integer."""
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        return default


def pairs(value: Any) -> list[tuple[str, float]]:
    """A ``WITHSCORES`` answer as ``(member, score)``; nothing when the key has another type."""
    return [(text(member), float(score)) for member, score in value] if isinstance(value, list) else []
