"""A work horse that does not outlive its worker, waiting for it without polling, and its last word."""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_PR_SET_PDEATHSIG = 1
# looked up before the fork: in the child it would touch pages that each horse then copies
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None


def die_with_parent(parent: int) -> None:
    """In the child, after fork: SIGKILL when the parent dies (Linux). Exits at once if it is dead already."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def ended_within(pid: int, seconds: float) -> bool:
    """Wait at most ``seconds`` for a child to end; True if it has (or is no child of ours)."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(max(seconds, 0) * 1000))
    finally:
        os.close(descriptor)


class Slate:
    """A word that a work horse leaves for its worker: memory of both, which outlasts the process that wrote it."""

    SIZE = 32

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self.SIZE)

    def read(self) -> str:
        return self._memory[:].rstrip(b"\0").decode()

    def write(self, word: str) -> None:
        self._memory[:] = word.encode().ljust(self.SIZE, b"\0")


@contextmanager
def alarm(seconds: float, act: Callable[[], Any]) -> Iterator[None]:
    """Call ``act`` after ``seconds`` if the block still lasts then, though it may wait for a silent server."""

    def ring(signum: int, frame: Any) -> None:
        act()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def introduce_nothing(connection: Any) -> None:
    """In the child: its new connection skips CLIENT SETINFO, two round trips and a look-up of the installed version."""
    connection.connection_pool.connection_kwargs["driver_info"] = None


CAN_WAIT = hasattr(os, "pidfd_open")
