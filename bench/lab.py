"""The laboratory: a private server pinned to one CPU, and measuring processes pinned to the same or another one."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import redis

from queueops.supervise.embedded import Server

FORK = multiprocessing.get_context("fork")
WAIT = 300.0
"""Seconds after which a measuring process has failed."""


def cpus() -> list[int]:
    """The CPUs this process may use; empty where the system cannot pin."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Lab:
    """One run's server. ``same`` and ``cross`` are the CPUs for clients (None: not pinned)."""

    def __init__(self, url: str, server_pid: int, available: list[int], quick: bool) -> None:
        self.url = url
        self.server_pid = server_pid
        self.quick = quick
        self.same = available[0] if available else None
        self.cross = available[1] if len(available) > 1 else None
        self.places: dict[str, int | None] = {"same CPU": self.same}
        if len(available) > 1:
            self.places["two CPUs"] = self.cross

    def connect(self) -> redis.Redis:
        """A client of its own, bytes answers."""
        return redis.Redis.from_url(self.url, socket_timeout=120)

    def clean(self) -> redis.Redis:
        """An empty server, ready for claims; its client."""
        from queueops import mirror
        from queueops.rdb.client import Server as Alias

        connection = self.connect()
        connection.flushall()
        connection.config_resetstat()
        mirror.rebuild(Alias("bench", connection, ()))
        return connection

    def apart(self, function: Callable[..., Any], *args: Any, cpu: int | None = None) -> Any:
        """The answer of ``function`` in a process of its own, pinned to ``cpu``."""
        receive, send = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_child, args=(send, cpu, function, args), daemon=True)
        process.start()
        send.close()
        try:
            if not receive.poll(WAIT):
                raise RuntimeError(f"{function.__name__} did not answer within {WAIT:g} s")
            done, value = receive.recv()
        finally:
            end(process)
        if not done:
            raise RuntimeError(f"{function.__name__} failed:\n{value}")
        return value

    @contextmanager
    def background(self, function: Callable[..., Any], *args: Any, cpu: int | None = None) -> Iterator[BaseProcess]:
        """A process that runs ``function`` during the block and is killed at its end."""
        process = FORK.Process(target=_child, args=(None, cpu, function, args), daemon=True)
        process.start()
        try:
            yield process
        finally:
            end(process)


def end(process: BaseProcess) -> None:
    """SIGKILL; what it forked dies with it."""
    if process.pid and process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()


def _child(send: Connection | None, cpu: int | None, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    try:
        answer = (True, function(*args))
    except BaseException:
        answer = (False, traceback.format_exc())
        if send is None:
            traceback.print_exc()
    if send is not None:
        send.send(answer)
        send.close()
    os._exit(0)


@contextmanager
def opened(quick: bool) -> Iterator[Lab]:
    """A server on the first CPU, without an append-only file (disks are not what is measured), and Django set up."""
    home = Path(tempfile.mkdtemp(prefix="qo-bench-"))
    server = Server(home / "redis")
    available = cpus()
    try:
        if available:
            os.sched_setaffinity(0, {available[0]})
        server.start()
        if available:
            os.sched_setaffinity(0, set(available))
        assert server.process
        with redis.Redis.from_url(server.url) as connection:
            connection.config_set("appendonly", "no")
        _django(server.url, home)
        yield Lab(server.url, server.process.pid, available, quick)
    finally:
        server.kill()
        shutil.rmtree(home, ignore_errors=True)


def _django(url: str, home: Path) -> None:
    os.environ.update(
        DJANGO_SETTINGS_MODULE="queueops.project.settings",
        REDIS_URL=url,
        DATABASE_URL=f"sqlite:///{home / 'bench.sqlite3'}",
        QUEUEOPS_STATE_DIR=str(home),
    )
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    connections.close_all()
