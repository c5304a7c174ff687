"""Retries and ThrottlesExceptions with real workers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import rq
from rq import Retry
from rq.job import JobStatus

from queueops import Retries, ThrottlesExceptions, controlled
from queueops.middleware import DeclarationError
from queueops.rq import Job
from tests.rq import retry_jobs as jobs
from tests.scripts.kit import K

Work = Callable[..., None]
Forward = Callable[[float], None]


@pytest.fixture(autouse=True)
def _calls() -> None:
    jobs.CALLS.clear()


def status(job: Any) -> JobStatus:
    found: JobStatus = Job.fetch(job.id, connection=job.connection).get_status()
    return found


def test_it_waits_longer_each_time_and_ends(queue: Any, work: Work, forward: Forward, totals: Any) -> None:
    job = queue.enqueue(jobs.always_fails)
    assert job.retry_intervals == [10, 20, 40] and job.retries_left == 3
    for wait in (10, 20, 40):
        work()
        assert status(job) == JobStatus.SCHEDULED
        forward(wait - 1)
        work()
        assert status(job) == JobStatus.SCHEDULED, wait
        forward(1.1)
    work()
    assert len(jobs.CALLS) == 4
    assert status(job) == JobStatus.FAILED and totals()["retried"] == 3


def test_other_exceptions_are_not_worth_another_try(queue: Any, work: Work) -> None:
    lost, wrong = queue.enqueue(jobs.calls, "lost"), queue.enqueue(jobs.calls, "wrong")
    work()
    assert status(lost) == JobStatus.SCHEDULED and status(wrong) == JobStatus.FAILED
    assert "ValueError: wrong" in wrong.latest_result().exc_string


def test_rqs_own_retry_wins(queue: Any) -> None:
    job = queue.enqueue(jobs.always_fails, retry=Retry(max=1, interval=5))
    assert (job.retries_left, job.retry_intervals) == (1, [5])


def test_a_job_of_plain_rq_gets_them_when_it_is_adopted(queue: Any, work: Work, forward: Forward) -> None:
    job = rq.Queue("default", connection=queue.connection).enqueue(jobs.always_fails)
    work()
    assert status(job) == JobStatus.SCHEDULED
    found = Job.fetch(job.id, connection=queue.connection)
    assert (found.retries_left, found.retry_intervals) == (2, [10, 20, 40])
    forward(11)
    work()
    assert len(jobs.CALLS) == 2


def test_chance_adds_at_most_half_and_waits_still_grow() -> None:
    random.seed(7)
    for _ in range(200):
        waits = Retries(max=8, base=10, cap=600).waits()
        assert all(10 * 2**n <= wait <= 15 * 2**n for n, wait in enumerate(waits[:6]))
        assert waits[:6] == sorted(waits[:6]) and max(waits) <= 900
    assert Retries(max=4, backoff=[1, 5], jitter=False).waits() == [1, 5, 5, 5]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Retries(max=0), "max must be between 1"),
        (lambda: Retries(max=3, backoff="linear"), "a list of seconds"),
        (lambda: Retries(max=3, backoff=[]), "a list of seconds"),
        (lambda: Retries(max=3, on=BaseException), "exception classes"),  # type: ignore[arg-type]
        (lambda: Retries(max=3, on=()), "leave it out"),
        (lambda: ThrottlesExceptions(0, 60), "max must be"),
        (lambda: ThrottlesExceptions(5, 60, on="ValueError"), "exception classes"),  # type: ignore[arg-type]
        (lambda: controlled(Retries(), Retries())(jobs.always_fails), "one Retries"),
    ],
)
def test_wrong_declarations(make: Any, says: str) -> None:
    with pytest.raises(DeclarationError, match=says):
        make()


@pytest.mark.parametrize("fork", [False, True])
def test_too_many_failures_park_what_comes_next(
    queue: Any, work: Work, forward: Forward, totals: Any, fork: bool
) -> None:
    fine = queue.enqueue(jobs.courier, "ok", 2)
    many = [queue.enqueue(jobs.courier, "lost", 1) for _ in range(5)]
    work(fork=fork)
    assert [status(job) for job in many] == [JobStatus.FAILED] * 3 + [JobStatus.SCHEDULED] * 2
    assert status(fine) == JobStatus.FINISHED
    assert totals()["failed_attempt"] == 3 and totals()["parked"] == 2
    assert any(f[b"e"] == b"breaker.opened" for _, f in queue.connection.xrange(K.static("log")))
    other = queue.enqueue(jobs.courier, "ok", 2)
    work(fork=fork)
    assert status(other) == JobStatus.FINISHED, "each key has its own"
    forward(31)
    jobs.mend(queue.connection)
    work(fork=fork)
    assert [status(job) for job in many[3:]] == [JobStatus.FINISHED] * 2
    assert queue.connection.zcard(K.of("line", "B:courier\x1f1")) == 0


def test_what_does_not_count_does_not_open_it(queue: Any, work: Work) -> None:
    many = [queue.enqueue(jobs.courier, "wrong", 1) for _ in range(5)]
    work()
    assert {status(job) for job in many} == {JobStatus.FAILED}


def test_a_breaker_is_on_the_pages(queue: Any, work: Work, admin_client: Any) -> None:
    for _ in range(4):
        queue.enqueue(jobs.courier, "lost", 1)
    work()
    assert "courier" in admin_client.get("/locks/").content.decode()
    page = admin_client.get("/locks/", {"control": "B:courier", "key": "1"})
    assert page.status_code == 200 and "3 of 3" in page.content.decode()
