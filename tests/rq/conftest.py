from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django_rq import get_queue

from queueops.rdb.client import server_of
from queueops.rq import SimpleWorker, Worker
from tests.rq import jobs
from tests.scripts.kit import Doors


@pytest.fixture(autouse=True)
def _calls() -> None:
    jobs.CALLS.clear()


@pytest.fixture
def queue(redis: Any, transactional_db: None) -> Any:
    return get_queue("default")


@pytest.fixture
def work(queue: Any) -> Callable[..., None]:
    """Run everything that may run now, in this process or in work horses."""

    def run(*queues: Any, fork: bool = False) -> None:
        kind = Worker if fork else SimpleWorker
        kind(list(queues) or [queue], connection=queue.connection).work(burst=True, logging_level="ERROR")

    return run


@pytest.fixture
def totals(redis: Any) -> Callable[[], dict[str, int]]:
    def read(name: str = "default") -> dict[str, int]:
        from queueops.conf import conf

        found = server_of(name).connection.hgetall(conf.keys.of("total", name))
        return {event.decode(): int(n) for event, n in found.items()}

    return read


@pytest.fixture
def doors(redis: Any) -> Doors:
    """The doors themselves, to start a job and leave it running."""
    return Doors(redis)
