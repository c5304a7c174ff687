from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis as redis_py

from queueops.conf import conf
from queueops.mirror import rebuild
from queueops.rdb.client import Server
from queueops.rdb.keys import Keys


class Counting(redis_py.Redis):
    """Counts round trips: a pipeline's execute is one, and so is every command outside of one."""

    trips = 0

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self.trips += 1
        return super().execute_command(*args, **options)

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        made = super().pipeline(transaction, shard_hint)
        execute = made.execute

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.trips += 1
            return execute(*args, **kwargs)

        made.execute = counted
        return made


@pytest.fixture
def counting(redis_server: Any, redis: Any) -> Any:
    """A connection that counts its round trips in ``.trips``."""
    with Counting.from_url(redis_server.url) as connection:
        yield connection


@pytest.fixture
def keys() -> Keys:
    return conf.keys


@pytest.fixture
def server(counting: Counting) -> Server:
    """A server with no queue of the settings."""
    return Server("test", counting, ())


@pytest.fixture
def mirrored(server: Server, transactional_db: None) -> Server:
    """The server with an epoch: counters count from now."""
    rebuild(server)
    return server


@pytest.fixture
def now(redis: Any) -> Callable[[], int]:
    """Redis time in µs."""

    def read() -> int:
        seconds, micros = redis.time()
        return int(seconds) * 1_000_000 + int(micros)

    return read
