from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django_rq import get_queue

from queueops.conf import conf
from queueops.rq import SimpleWorker
from tests.middleware import shop


@pytest.fixture
def queue(redis: Any, transactional_db: None) -> Any:
    shop.SEEN.clear()
    return get_queue("default")


@pytest.fixture
def work(queue: Any) -> Callable[[], None]:
    """Run everything that may run now."""

    def run() -> None:
        SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")

    return run


@pytest.fixture
def totals(redis: Any) -> Callable[[], dict[str, int]]:
    def read() -> dict[str, int]:
        return {event.decode(): int(n) for event, n in redis.hgetall(conf.keys.of("total", "default")).items()}

    return read
