"""Ties a child process to its parent's life, where the operating system can (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1

# loaded before any fork: between fork and exec nothing may import or allocate much
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def tie_to_parent(how: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """A ``preexec_fn``: the child gets ``how`` when the process that calls this ends, however it ends."""
    parent = os.getpid()

    def tie() -> None:
        if _libc is None:
            return
        _libc.prctl(PR_SET_PDEATHSIG, int(how), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call above
            os.kill(os.getpid(), how)

    return tie
