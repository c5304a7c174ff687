"""What the bench runs. Jobs report through a pipe and shared memory made before the workers are forked."""

from __future__ import annotations

import os
import struct
import time
from typing import Any

from queueops import Quarantine, RateLimited, Unique, WithoutOverlapping, WithSemaphore, controlled

STAMP = struct.Struct("qq")
pipe: tuple[int, int] = (-1, -1)
room: Any = None
"""A bench.room.Room."""


def open_pipe() -> int:
    """A fresh pipe for stamps, inherited by processes forked from now on; its reading end."""
    global pipe
    close_pipe()
    pipe = os.pipe()
    return pipe[0]


def close_pipe() -> None:
    global pipe
    for descriptor in pipe:
        if descriptor >= 0:
            os.close(descriptor)
    pipe = (-1, -1)


def nothing(n: int) -> int:
    """A no-op without controls."""
    return n


@controlled(Unique("until_executed", key="{n}"))
def only(n: int) -> int:
    """A no-op that is the only one of its number."""
    return n


@controlled(
    WithoutOverlapping(key="{n}"),
    WithSemaphore("bench-disk", limit=4),
    RateLimited("bench-mail", limit=10_000, per=60),
)
def under_three(n: int) -> int:
    """The same under a lock, a semaphore and a rate, all of which have room."""
    return n


def stamp(n: int) -> None:
    """Tell when it started (monotonic ns, the same clock in all processes)."""
    at = time.monotonic_ns()
    os.write(pipe[1], STAMP.pack(at, at))


@controlled(WithoutOverlapping("bench-one"))
def one_at_a_time(n: int, seconds: float = 0.002) -> None:
    """Holds a lock for ``seconds`` and tells when it started and ended."""
    start = time.monotonic_ns()
    time.sleep(seconds)
    os.write(pipe[1], STAMP.pack(start, time.monotonic_ns()))


@controlled(WithSemaphore("bench-room", limit=3))
def enter(n: int) -> None:
    """Counted outside Redis while it runs."""
    room.visit(n)


@controlled(Quarantine(after=1000))
def broken(n: int) -> None:
    """Fails, and stays in RQ's list of failed jobs."""
    raise ValueError(f"wrong number {n}")


@controlled(Quarantine(after=1))
def poison(n: int) -> None:
    """Fails, and is quarantined."""
    raise ValueError(f"wrong number {n}")
