"""Newer calls take the place of older ones: never of what they depend on, never for a call that is then turned away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import rq
from rq import Retry
from rq.job import JobStatus

from queueops import DuplicateJob, Unique, controlled
from queueops.rq import Job
from tests.rq import unique_jobs as jobs
from tests.scripts.kit import Doors

Work = Callable[..., None]
BOTH = pytest.mark.parametrize("function", [jobs.replaces, jobs.coalesces])


@pytest.fixture(autouse=True)
def _calls() -> None:
    jobs.CALLS.clear()


def status(job: Any) -> JobStatus:
    found: JobStatus = Job.fetch(job.id, connection=job.connection).get_status()
    return found


@BOTH
def test_a_call_comes_after_what_it_depends_on(queue: Any, work: Work, function: Any) -> None:
    first = queue.enqueue(function, 1, 1)
    second = queue.enqueue(function, 1, 2, depends_on=first)
    assert second.id != first.id
    work()
    assert jobs.CALLS == [(1, 1), (1, 2)]
    queue.enqueue(function, 1, 3)
    work()
    assert jobs.CALLS[-1] == (1, 3)


@BOTH
def test_no_chain_becomes_a_circle(queue: Any, work: Work, function: Any) -> None:
    first = queue.enqueue(function, 1, 1)
    report = queue.enqueue(jobs.plain, "report", depends_on=first)
    second = queue.enqueue(function, 1, 2, depends_on=report)
    third = queue.enqueue(function, 1, 3)
    work()
    assert [call for call in jobs.CALLS if call[0] == 1][-1] == (1, 3) and ("report",) in jobs.CALLS
    assert all(status(job) in (JobStatus.FINISHED, JobStatus.CANCELED) for job in (first, report, second, third))
    assert not queue.deferred_job_registry.get_job_ids(cleanup=False)


@BOTH
def test_a_follower_keeps_its_place_before_what_depends_on_it(
    queue: Any, doors: Doors, work: Work, function: Any
) -> None:
    queue.enqueue(function, 1, 1)
    _, token = doors.start() or ("", "")
    follower = queue.enqueue(function, 1, 2)
    queue.enqueue(function, 1, 3, depends_on=follower)
    doors.settle(token)
    work()
    assert jobs.CALLS == [(1, 2), (1, 3)]


@BOTH
def test_the_newest_arguments_run_last_though_the_running_job_comes_back(
    queue: Any, doors: Doors, work: Work, forward: Callable[[float], None], function: Any
) -> None:
    first = queue.enqueue(function, 1, 1, retry=Retry(max=2, interval=60))
    _, token = doors.start() or ("", "")
    queue.enqueue(function, 1, 2)
    retried = [("HSET", f"rq:job:{first.id}", "status", "scheduled"), ("ZADD", "rq:scheduled:default", "1", first.id)]
    doors.settle(token, "retried", commands=retried)
    queue.enqueue(function, 1, 3)
    forward(100)
    work()
    work()
    assert jobs.CALLS == [(1, 1), (1, 3)]


def test_after_a_crash_the_newest_runs_last(queue: Any, doors: Doors, work: Work) -> None:
    queue.enqueue(jobs.coalesces, 1, 1)
    _, token = doors.start() or ("", "")
    queue.enqueue(jobs.coalesces, 1, 2)
    doors.settle(token, "crashed")
    queue.enqueue(jobs.coalesces, 1, 3)
    work()
    assert jobs.CALLS == [(1, 1), (1, 3)]


def two(on_conflict: str) -> Any:
    @controlled(
        Unique("until_executed", key="book:{book}", on_conflict="replace"),
        Unique("until_executed", key="user:{user}", on_conflict=on_conflict),
    )
    def job(book: int, user: str) -> None:
        jobs.CALLS.append((book, user))

    job.__module__, job.__qualname__ = jobs.__name__, f"two_{on_conflict}"
    setattr(jobs, f"two_{on_conflict}", job)
    return job


@pytest.mark.parametrize("on_conflict", ["log", "raise", "reject"])
def test_nothing_is_replaced_for_a_call_that_is_turned_away(queue: Any, work: Work, on_conflict: str) -> None:
    function = two(on_conflict)
    ann, bob = queue.enqueue(function, 1, "ann"), queue.enqueue(function, 2, "bob")
    after = queue.enqueue(jobs.plain, "after", depends_on=ann)
    with suppress(DuplicateJob):
        queue.enqueue(function, 1, "bob")
    assert (status(ann), status(bob)) == (JobStatus.QUEUED, JobStatus.QUEUED)
    work()
    assert jobs.CALLS == [(1, "ann"), (2, "bob"), ("after",)] and status(after) == JobStatus.FINISHED


def test_one_that_is_replaced_anyway_turns_nobody_away(queue: Any, work: Work) -> None:
    function = two("log")
    older = queue.enqueue(function, 1, "ann")
    newer = queue.enqueue(function, 1, "ann")
    assert newer.id != older.id and status(older) == JobStatus.CANCELED
    work()
    assert jobs.CALLS == [(1, "ann")]


@BOTH
def test_a_producer_that_dies_before_rq_has_saved_its_job_took_nothing(
    queue: Any, work: Work, monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    parent = queue.enqueue_in(timedelta(hours=1), jobs.plain)
    older = queue.enqueue(function, 1, 1)

    class Died(BaseException):
        pass

    def dies(*_args: Any, **_options: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(rq.Queue, "setup_dependencies", dies)
        with pytest.raises(Died):
            queue.enqueue(function, 1, 2, depends_on=parent)
    assert status(older) == JobStatus.QUEUED
    work()
    assert jobs.CALLS == [(1, 1)]
    queue.enqueue(function, 1, 3)
    work()
    assert jobs.CALLS == [(1, 1), (1, 3)]


@BOTH
def test_one_with_dependencies_takes_the_place_once_it_is_saved(queue: Any, work: Work, function: Any) -> None:
    parent = queue.enqueue(jobs.plain, "parent")
    older = queue.enqueue(function, 1, 1)
    newer = queue.enqueue(function, 1, 2, depends_on=parent)
    assert (status(older), status(newer)) == (JobStatus.CANCELED, JobStatus.DEFERRED)
    work()
    assert jobs.CALLS == [("parent",), (1, 2)]
