"""The jobs of these tests."""

from __future__ import annotations

from queueops import Quarantine, RateLimited, WithoutOverlapping, WithSemaphore, controlled

RUNS: list[str] = []
"""What in-process workers have run."""

STURDY = Quarantine(after=1000, crashes=1000)


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
