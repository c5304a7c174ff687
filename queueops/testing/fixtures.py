"""pytest fixtures. In the topmost ``conftest.py``: ``pytest_plugins = ["queueops.testing.fixtures"]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from queueops.rq import Job
from queueops.testing import clock, servers
from queueops.testing.work import run_jobs as run

__all__ = ["own_redis", "own_redis_server", "pass_time", "run_jobs"]


@pytest.fixture(scope="session")
def own_redis_server() -> Iterator[str]:
    """The address of a server for this run (of each process of a parallel one)."""
    with servers.server() as url:
        yield url


@pytest.fixture
def own_redis(own_redis_server: str, db: None) -> Iterator[Redis]:
    """All queues on that server, which is empty; a connection to it."""
    with servers.queues_on(own_redis_server) as connection:
        yield connection


@pytest.fixture
def run_jobs(own_redis: Redis) -> Callable[..., list[tuple[Job, str]]]:
    """:func:`queueops.testing.work.run_jobs`."""
    return run


@pytest.fixture
def pass_time(own_redis: Redis) -> Iterator[Callable[[float], None]]:
    """Call it with seconds: so much time passes at once for locks, rates, retries and scheduled jobs."""
    clock.install()
    yield lambda seconds: clock.advance(own_redis, seconds)
    clock.remove()
