"""Fixtures that start `queueops up`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.supervise.family import Running
from tests.support import free_port

Launch = Callable[..., Running]


def starter(state: Path) -> Iterator[Launch]:
    """Starts `manage.py queueops up` as on a new machine: nothing in the environment, a state directory of its own."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("REDIS_URL", "DATABASE_URL", "SECRET_KEY")}
    started: list[Running] = []

    def start(*options: str, port: int = 0, **variables: str) -> Running:
        command = [sys.executable, "manage.py", "queueops", "up", "--port", str(port or free_port()), "--workers", "1"]
        running = Running([*command, *options], {**inherited, "QUEUEOPS_STATE_DIR": str(state), **variables})
        started.append(running)
        return running

    yield start
    for running in started:
        running.end(signal.SIGKILL)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state directory of `up`, not made yet."""
    return tmp_path / "state"


@pytest.fixture
def launch(state: Path) -> Iterator[Launch]:
    """Start `up` on the directory of this test."""
    yield from starter(state)


@pytest.fixture
def running(launch: Launch) -> Running:
    """`up`, ready, to be disturbed."""
    one = launch()
    one.expect(r"started redis")
    return one


@dataclass(frozen=True)
class Shared:
    """One `up` for tests that only look at it."""

    running: Running
    state: Path
    launch: Launch

    @property
    def address(self) -> str:
        return self.running.expect(r"(http://\S+)")[1]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """`up`, ready, to be looked at."""
    state = tmp_path_factory.mktemp("up") / "state"
    starts = starter(state)
    launch = next(starts)
    running = launch()
    running.expect(r"started redis")
    yield Shared(running, state, launch)
    next(starts, None)
