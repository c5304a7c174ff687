"""Job functions of these tests; importable by workers in other processes."""

from __future__ import annotations

import os
import signal
from typing import Any

from django_rq import get_queue
from rq import Retry, get_current_job

from queueops import (
    Discard,
    Fail,
    Postpone,
    Quarantine,
    RateLimited,
    WithoutOverlapping,
    WithSemaphore,
    controlled,
    current_execution,
    once,
    progress,
)
from queueops.rdb import doors
from queueops.rdb.client import Server

CALLS: list[Any] = []


def add(a: int, b: int) -> int:
    CALLS.append((a, b))
    return a + b


def renews_itself() -> None:
    """Deletes its own job and enqueues it anew under the same id, once."""
    CALLS.append("second" if CALLS else "first")
    job = get_current_job()
    if CALLS == ["first"] and job is not None:
        job.delete()
        get_queue("default").enqueue(renews_itself, job_id=job.id)


def boom() -> None:
    raise ValueError("boom")


def again() -> Any:
    return Retry(max=1)


def postpone() -> None:
    raise Postpone(60)


def discard() -> None:
    raise Discard("no longer wanted")


@controlled(Quarantine(after=5))
def fail() -> None:
    raise Fail("never again")


def unpicklable() -> Any:
    return lambda: 1


def whoami() -> Any:
    return current_execution()


def die() -> None:
    os.kill(os.getpid(), 9)


def leave() -> None:
    os._exit(0)


@controlled(WithoutOverlapping(key="{n}"))
def locked(n: int) -> int:
    CALLS.append(n)
    return n


@controlled(WithSemaphore("tests-disk", limit=2, otherwise="drop"))
def dropping(n: int) -> int:
    return n


@controlled(RateLimited("tests-mail", limit=2, per=60))
def mail(n: int) -> int:
    CALLS.append(n)
    return n


def on_success(job: Any, connection: Any, result: Any) -> None:
    CALLS.append(("success", job.id, result))


def on_failure(job: Any, connection: Any, kind: Any, value: Any, traceback: Any) -> None:
    CALLS.append(("failure", job.id, str(value)))


def odd_words() -> None:
    raise Discard("\ud800" + "x" * 100_000)


def wait_for_ever() -> None:
    signal.pause()


def wait_for_key(key: str) -> None:
    """Until somebody pushes to the list."""
    get_current_job().connection.blpop([key], timeout=60)


def tick() -> None:
    """What time brings, looked at by another worker during this run: the job's status before and after."""
    job = get_current_job()
    found = [str(job.get_status(refresh=True).value)]
    doors.tick(Server("default", job.connection, ("default",)))
    CALLS.append([*found, str(job.get_status(refresh=True).value)])


def charge(order: int) -> None:
    with once(f"charge:{order}") as first:
        CALLS.append(first)


def counts(n: int) -> None:
    for at in range(1, n + 1):
        progress(at, n, f"item {at}")
