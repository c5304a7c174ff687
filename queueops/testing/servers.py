"""A Redis server for tests: started by them, on a unix socket, gone with all that it holds when they end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.test import override_settings
from redis import Redis

from queueops.rq import Queue
from queueops.supervise.embedded import Server

PLACE = {
    *("URL", "HOST", "PORT", "DB", "UNIX_SOCKET_PATH", "USERNAME", "PASSWORD", "SSL", "SSL_CERT_REQS"),
    *("SENTINELS", "MASTER_NAME", "SOCKET_TIMEOUT", "CONNECTION_KWARGS", "SENTINEL_KWARGS"),
    *("REDIS_CLIENT_KWARGS", "USE_REDIS_CACHE"),
}
"""What an entry of ``RQ_QUEUES`` says about its server."""


@contextmanager
def server() -> Iterator[str]:
    """The address of a new server. Raises ``ServerProblem``, which says what is missing."""
    with tempfile.TemporaryDirectory(prefix="qo-") as home, Server(Path(home)) as started:
        yield started.url


@contextmanager
def queues_on(url: str) -> Iterator[Redis]:
    """Every queue of ``RQ_QUEUES`` is on the server at ``url``, which is emptied first; a connection to it."""
    queues = {
        name: {option: value for option, value in options.items() if option not in PLACE} | {"URL": url}
        for name, options in settings.RQ_QUEUES.items()
    }
    with override_settings(RQ_QUEUES=queues), Redis.from_url(url) as connection, _bound_earlier(connection):
        connection.flushall()
        yield connection


@contextmanager
def _bound_earlier(connection: Redis) -> Iterator[None]:
    """Queues that were made before, as ``@django_rq.job`` makes one at import, use this server, too: no test may reach
    the one of the settings.
    """
    here = _address(connection)

    def used(queue: Queue) -> Any:
        found = queue.__dict__["connection"]
        return found if _address(found) == here else connection

    def store(queue: Queue, value: Any) -> None:
        queue.__dict__["connection"] = value

    Queue.connection = property(used, store)  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        del Queue.connection  # type: ignore[misc]


def _address(connection: Any) -> tuple[Any, ...] | None:
    """Where a connection leads; None for what has no address of its own."""
    pool = getattr(getattr(connection, "_connection", connection), "connection_pool", None)
    options = getattr(pool, "connection_kwargs", {})
    return tuple(options.get(name) for name in ("path", "host", "port", "db"))


@contextmanager
def own_redis() -> Iterator[Redis]:
    """Both at once, for tests without pytest."""
    with server() as url, queues_on(url) as connection:
        yield connection
