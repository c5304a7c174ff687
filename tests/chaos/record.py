"""What jobs and producers write down outside Redis: one line for each event, in a file that all of them append to."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "QUEUEOPS_CHAOS_RECORD"
"""Environment variable with the path of the file."""


@dataclass(frozen=True, slots=True)
class Line:
    """``at``: CLOCK_MONOTONIC in ns, one clock for all processes of a host. ``run``: the token of the execution."""

    at: int
    what: str
    job: str
    run: str
    pid: int
    holds: tuple[tuple[str, int], ...]


def write(what: str, job: str, run: str = "-", holds: tuple[tuple[str, int], ...] = ()) -> None:
    """Append one line in one write: lines of several processes do not mix, and a killed writer leaves no half one."""
    text = " ".join(f"{name}={weight}" for name, weight in holds)
    line = f"{time.monotonic_ns()} {what} {job} {run} {os.getpid()} {text}".rstrip() + "\n"
    descriptor = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def read(path: Path) -> Iterator[Line]:
    """All lines, in the order in which they were written."""
    if not path.exists():
        return
    for text in path.read_text().splitlines():
        at, what, job, run, pid, *holds = text.split(" ")
        pairs = tuple((name, int(weight)) for name, _, weight in (hold.partition("=") for hold in holds))
        yield Line(int(at), what, job, run, int(pid), pairs)
