from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops.testing import clock as store_clock
from tests.chaos.harness import Town
from tests.scripts.kit import Doors


@pytest.fixture(scope="module")
def _crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with Town(tmp_path_factory.mktemp("crew"), {}) as town:
        yield town


@pytest.fixture
def town(_crew: Town) -> Iterator[Town]:
    """Real processes on a Redis of their own: none at first, see ``town.spawn``."""
    _crew.reset()
    yield _crew
    _crew.reset()


class Clock:
    """The store's clock, which stands still until :meth:`advance`."""

    def __init__(self, redis: Any) -> None:
        self.redis, self.now = redis, 1_800_000_000_000_000
        self.advance(0)

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1_000_000)
        store_clock.stop(self.redis, self.now)


@pytest.fixture
def clock(redis: Any) -> Iterator[Clock]:
    store_clock.install()
    yield Clock(redis)
    store_clock.remove()


@pytest.fixture
def doors(redis: Any, clock: Clock) -> Doors:
    """The doors, with time under the test's control."""
    return Doors(redis)
