"""The Redis servers behind ``RQ_QUEUES``: one client each, however many queues share it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from redis.exceptions import ConnectionError, OutOfMemoryError, ReadOnlyError, TimeoutError

T = TypeVar("T")

WEB_TIMEOUT = 2.0
"""Seconds that a page, a command or the monitor waits for a server."""


FULL = "Redis is full: it takes no writes, so no job is accepted or started. Raise its maxmemory, or free memory."


@dataclass(frozen=True, slots=True)
class Server:
    """One Redis server: the first queue that names it gives the alias."""

    alias: str
    connection: Any = field(repr=False, compare=False)
    queues: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """How the settings name it: ``RQ_QUEUES['mail']``."""
        return f"RQ_QUEUES[{self.alias!r}]"


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
        # its text may hold a part of the password
        text = f"RQ_QUEUES[{name!r}]['URL'] is no address of Redis; one looks like redis://localhost:6379/0"
        raise ImproperlyConfigured(f"{text}. `manage.py check` says more.") from error
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


def ask_each(read: Callable[[Server], T], among: Iterable[Server] | None = None) -> tuple[list[T], list[Server]]:
    """What each server answers, and the servers that do not answer. Raises the error when none does."""
    found: list[T] = []
    silent: list[Server] = []
    problem: Exception | None = None
    for server in servers() if among is None else among:
        try:
            found.append(read(server))
        except (ConnectionError, TimeoutError) as error:
            problem = problem or error
            silent.append(server)
    if problem is not None and not found:
        raise problem
    return found, silent


def answering_server() -> Server:
    """The first server that answers, to ask for the time; one that is alone is not asked whether it does."""
    found = servers()
    for server in found if len(found) > 1 else ():
        try:
            server.connection.ping()
        except (ConnectionError, TimeoutError):
            continue
        return server
    return default_server()


def told(error: Exception) -> str:
    """An error of Redis for people: what it means, or the entries of ``RQ_QUEUES`` whose server does not answer now."""
    if isinstance(error, OutOfMemoryError):
        return FULL.rstrip(".")
    if isinstance(error, ReadOnlyError):
        return "it is a read-only replica; name its primary in RQ_QUEUES"
    lines = []
    for server in servers():
        try:
            server.connection.ping()
        except (ConnectionError, TimeoutError) as problem:
            lines.append(f"{server.entry}: {str(problem).rstrip('. ')}")
    return "; ".join(lines) or str(error).rstrip(". ")


def forget(**kwargs: Any) -> None:
    """Drop the clients, after the settings changed."""
    if kwargs.get("setting") in (None, "RQ_QUEUES"):
        with _lock:
            _servers.clear()


setting_changed.connect(forget)
