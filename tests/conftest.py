"""A private Redis server and SQLite file for the whole run; nothing outside is touched."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis as redis_py
from django.conf import settings
from django.utils import translation

from queueops.supervise.embedded import Server
from queueops.testing import clock as store_clock

_home: Path | None = None
_server: Server | None = None


def pytest_configure(config: pytest.Config) -> None:
    """Start the server, and point settings and environment (for child processes) at it before anything connects."""
    global _home, _server
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return  # the parent of a parallel run runs no test
    # short: a unix socket has 107 bytes at most
    _home = Path(tempfile.mkdtemp(prefix="qo-"))
    _server = Server(_home / "redis")
    _server.start()
    database = _home / "test.sqlite3"
    os.environ.update(
        REDIS_URL=_server.url,
        DATABASE_URL=f"sqlite:///{database}",
        QUEUEOPS_STATE_DIR=str(_home),
        DJANGO_SETTINGS_MODULE="queueops.project.settings",
    )
    # pytest-django has loaded the settings by now; nothing has connected yet
    settings.REDIS_URL = _server.url
    for options in settings.RQ_QUEUES.values():
        options["URL"] = _server.url
    settings.DATABASES["default"].update(NAME=str(database), CONN_MAX_AGE=0)
    settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(database)
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_unconfigure(config: pytest.Config) -> None:
    if _server:
        _server.stop()
    if _home:
        shutil.rmtree(_home, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Each process of a parallel run has a directory of its own: its database needs no other name."""


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A worker that a test runs in this process leaves its handlers behind: Ctrl-C would reach it, not pytest."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A page that a test asked for in Japanese leaves its language behind in the thread."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session")
def redis_server() -> Server:
    """The server of this run: ``.url``, ``.kill()``, ``.start()``."""
    assert _server
    return _server


@pytest.fixture
def redis(redis_server: Server) -> Iterator[redis_py.Redis]:
    """A connection (bytes answers) to an empty server; emptied again afterwards."""
    with redis_py.Redis.from_url(redis_server.url) as connection:
        connection.flushall()
        yield connection
        connection.flushall()


@pytest.fixture
def forward(redis: redis_py.Redis) -> Iterator[Callable[[float], None]]:
    """The store's clock stands still; this lets seconds pass."""
    seconds, micros = redis.time()
    now = [seconds * 1_000_000 + micros]

    def go(more: float) -> None:
        now[0] += round(more * 1_000_000)
        store_clock.stop(redis, now[0])

    store_clock.install()
    go(0)
    yield go
    store_clock.remove()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server for one test, to be killed and restarted; its data in a directory of the test."""
    with Server(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def child_env(redis_server: Server, transactional_db: None) -> dict[str, str]:
    """The environment of a child process on this run's Redis and test database.

    Not with the fixture ``db``: its open transaction would keep the child from writing.
    """
    return {**os.environ, "PYTHONUNBUFFERED": "1"}
