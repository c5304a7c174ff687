"""The Redis servers behind ``RQ_QUEUES``: one client each, however many queues share it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

WEB_TIMEOUT = 2.0
"""Seconds that a page, a command or the monitor waits for a server."""


@dataclass(frozen=True, slots=True)
class Server:
    """One Redis server: the first queue that names it gives the alias."""

    alias: str
    connection: Any = field(repr=False, compare=False)
    queues: tuple[str, ...] = ()


_servers: list[Server] = []
_lock = threading.Lock()


def _identity(connection: Any) -> tuple[Any, ...]:
    kwargs = connection.connection_pool.connection_kwargs
    where = kwargs.get("path") or (kwargs.get("host"), kwargs.get("port"))
    return (where, kwargs.get("db", 0), kwargs.get("username"))


def _connect(name: str) -> Any:
    from django_rq.connection_utils import get_connection

    try:
        base = get_connection(name)
    except ValueError as error:
        raise ImproperlyConfigured(f"RQ_QUEUES[{name!r}]: {error}") from error
    pool = base.connection_pool
    kwargs = dict(pool.connection_kwargs)
    if kwargs.get("decode_responses"):
        raise ImproperlyConfigured(
            f"RQ_QUEUES[{name!r}] sets decode_responses=True; RQ stores bytes: remove that option."
        )
    if type(pool) is not redis.ConnectionPool:
        return base
    kwargs.setdefault("socket_timeout", WEB_TIMEOUT)
    kwargs.setdefault("socket_connect_timeout", WEB_TIMEOUT)
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=pool.connection_class, **kwargs))


def servers() -> list[Server]:
    """Every distinct server of ``RQ_QUEUES`` with its queues, in the order of the settings. Opens no connection."""
    with _lock:
        if not _servers:
            found: dict[tuple[Any, ...], tuple[str, Any, list[str]]] = {}
            for name in settings.RQ_QUEUES:
                connection = _connect(name)
                entry = found.setdefault(_identity(connection), (name, connection, []))
                entry[2].append(name)
            _servers.extend(Server(alias, connection, tuple(queues)) for alias, connection, queues in found.values())
        return list(_servers)


def server_of(queue: str) -> Server:
    """The server of a queue; a queue that the settings do not name belongs to the first server."""
    for server in servers():
        if queue in server.queues:
            return server
    return default_server()


def default_server() -> Server:
    """The server of the first queue in the settings. Raises ``ImproperlyConfigured`` if ``RQ_QUEUES`` is empty."""
    found = servers()
    if not found:
        raise ImproperlyConfigured("RQ_QUEUES is empty: name at least one queue and its Redis.")
    return found[0]


def forget(**kwargs: Any) -> None:
    """Drop the clients, after the settings changed."""
    if kwargs.get("setting") in (None, "RQ_QUEUES"):
        with _lock:
            _servers.clear()


setting_changed.connect(forget)
