"""The jobs of these tests."""

from __future__ import annotations

import os
import signal
import sys
import time

from queueops import Quarantine, RateLimited, WithoutOverlapping, WithSemaphore, controlled
from tests.chaos.jobs import run

RUNS: list[str] = []
"""What in-process workers have run."""

STURDY = Quarantine(after=1000, crashes=1000)
LEASE = 1.0


@controlled(
    WithoutOverlapping(key="{key}", lease=1), WithSemaphore("field", 2, lease=1), RateLimited("field", 50, 60), STURDY
)
def everything(key: str) -> str:
    RUNS.append(key)
    return key


@controlled(STURDY)
def failing() -> None:
    RUNS.append("failing")
    raise RuntimeError("no")


@controlled(STURDY)
def free() -> None:
    RUNS.append("free")


@controlled(WithoutOverlapping("held", key="{key}", lease=LEASE), STURDY)
def hold(key: str, seconds: float) -> None:
    """Hold a lock for a time, in another process."""
    run(seconds, (f"held:{key}", 1))


@controlled(WithSemaphore("one-slot", 1, lease=LEASE), STURDY)
def hold_slot(seconds: float) -> None:
    run(seconds, ("one-slot", 1))


@controlled(WithoutOverlapping("deadly", lease=LEASE), WithSemaphore("deadly", 1, lease=LEASE))
def die(how: str) -> None:
    """Ends its process, or its parent's, under the quarantine rule of every job."""
    run(0.0, ("deadly", 1))
    if how == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exit":
        os._exit(0)
    elif how == "sys.exit":
        sys.exit(1)
    else:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
