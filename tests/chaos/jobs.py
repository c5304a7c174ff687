"""The jobs of the chaos runs. Each writes down its start, that it is alive, and its end, with what it holds."""

from __future__ import annotations

import time

from rq import get_current_job

from queueops import (
    Quarantine,
    RateLimited,
    Unique,
    WithoutOverlapping,
    WithSemaphore,
    controlled,
    current_execution,
)
from tests.chaos import record

LEASE = 2.0
RATE, PER = 12, 1.0
SLOTS = 2
WIDE = 5
# a worker that is killed a thousand times says nothing about the job it had
STURDY = Quarantine(after=1000, crashes=1000)

Holds = tuple[tuple[str, int], ...]


def run(seconds: float, *holds: tuple[str, int]) -> None:
    execution = current_execution()
    job = get_current_job()
    assert job is not None
    run = execution.token if execution else "plain"
    record.write("start", job.id, run, holds)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.01)
        record.write("alive", job.id, run, holds)
    record.write("end", job.id, run, holds)


@controlled(WithoutOverlapping(key="{key}", lease=LEASE), STURDY)
def locked(key: str, seconds: float) -> None:
    run(seconds, (f"lock:{key}", 1))


@controlled(Unique("until_executed", key="{key}", on_conflict="coalesce", across_queues=True), STURDY)
def sole(key: str, seconds: float) -> None:
    """The only one of its key, from its enqueue to its end; one more may wait."""
    run(seconds, (f"sole:{key}", 1))


@controlled(Unique("until_and_while_executing", key="{key}", across_queues=True), STURDY)
def single(key: str, seconds: float) -> None:
    """One waits, one runs."""
    run(seconds, (f"single:{key}", 1))


@controlled(WithSemaphore("chaos-slots", SLOTS, lease=LEASE), STURDY)
def slotted(seconds: float) -> None:
    run(seconds, ("slots", 1))


@controlled(WithSemaphore("chaos-wide", WIDE, weight=lambda weight, **_: weight, lease=LEASE), STURDY)
def weighty(weight: int, seconds: float) -> None:
    run(seconds, ("wide", weight))


@controlled(RateLimited("chaos-rate", RATE, PER), STURDY)
def limited(seconds: float) -> None:
    run(seconds)


@controlled(
    WithoutOverlapping("chaos-all", key="{key}", lease=LEASE),
    WithSemaphore("chaos-slots", SLOTS, lease=LEASE),
    RateLimited("chaos-rate", RATE, PER),
    STURDY,
)
def everything(key: str, seconds: float) -> None:
    run(seconds, (f"all:{key}", 1), ("slots", 1))


@controlled(WithSemaphore("chaos-slots", SLOTS, lease=LEASE), STURDY)
def shaky(seconds: float) -> None:
    """Fails the first time that it comes to its end, then succeeds."""
    job = get_current_job()
    assert job is not None
    run(seconds, ("slots", 1))
    if job.number_of_retries in (None, 0):
        raise RuntimeError("not this time")


@controlled(STURDY)
def doomed(seconds: float) -> None:
    run(seconds)
    raise RuntimeError("never")


def free(seconds: float) -> None:
    run(seconds)


LIMITS = {"slots": SLOTS, "wide": WIDE}


def limit_of(hold: str) -> int:
    """How much of a hold there is: locks have one."""
    return LIMITS.get(hold, 1)
