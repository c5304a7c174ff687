"""Dependents that allow failure run after each kind of bad end of their parent, without any monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rq.job import Dependency, JobStatus

from queueops.rq import Job
from tests.rq import jobs
from tests.scripts.kit import K

Work = Callable[..., None]


def pair(queue: Any, parent: Any) -> tuple[Any, Any]:
    """A dependent that allows failure and one that does not."""
    return (
        queue.enqueue(jobs.add, 1, 2, depends_on=Dependency([parent], allow_failure=True)),
        queue.enqueue(jobs.add, 3, 4, depends_on=parent),
    )


def states(*jobs_: Any) -> list[JobStatus]:
    return [Job.fetch(job.id, connection=job.connection).get_status() for job in jobs_]


def test_after_a_parent_that_killed_its_workers(queue: Any, work: Work, totals: Callable[[], dict[str, int]]) -> None:
    parent = queue.enqueue(jobs.die)
    found = pair(queue, parent)
    work(fork=True)
    assert queue.connection.zscore(K.of("quarantined", "default"), parent.id)
    assert states(*found) == [JobStatus.FINISHED, JobStatus.DEFERRED]
    assert not queue.connection.exists(K.static("parents"))
    assert totals()["accepted"] == 3 and totals()["crashed"] == 2 and totals()["completed"] == 1


@pytest.mark.parametrize("fork", [False, True])
def test_after_a_parent_that_failed(queue: Any, work: Work, fork: bool) -> None:
    found = pair(queue, queue.enqueue(jobs.boom))
    work(fork=fork)
    assert states(*found) == [JobStatus.FINISHED, JobStatus.DEFERRED]
    assert not queue.connection.exists(K.static("parents"))


def test_after_a_parent_that_was_never_started(queue: Any, work: Work) -> None:
    parent = queue.enqueue(jobs.add, 1, 2)
    found = pair(queue, parent)
    queue.connection.hset(parent.key, "qo_claims", "{nonsense")
    work()
    assert queue.connection.zscore(K.of("quarantined", "default"), parent.id)
    assert states(*found) == [JobStatus.FINISHED, JobStatus.DEFERRED]


def test_after_a_parent_whose_lease_ended(queue: Any, work: Work, doors: Any, forward: Callable[[float], None]) -> None:
    parent = queue.enqueue(jobs.add, 1, 2)
    found = pair(queue, parent)
    for _ in range(2):
        assert doors.start()
        forward(31)
    work()
    assert jobs.CALLS == [(1, 2)] and states(parent, *found) == [
        JobStatus.FAILED,
        JobStatus.FINISHED,
        JobStatus.DEFERRED,
    ]


def test_the_worker_died_while_rq_moved_them(
    queue: Any, work: Work, doors: Any, forward: Callable[[float], None]
) -> None:
    """RQ takes them off their parent first and puts them on their queues afterwards."""
    parent = queue.enqueue(jobs.add, 1, 2)
    found = pair(queue, parent)
    assert doors.start()
    parent.set_status(JobStatus.FINISHED)
    queue.connection.delete(K.of("rq_wip", queue.name))
    assert queue.move_dependents_to_ready(Job.fetch(parent.id, connection=queue.connection))
    assert states(*found) == [JobStatus.READY_TO_ENQUEUE] * 2
    forward(31)
    work()
    assert sorted(jobs.CALLS) == [(1, 2), (3, 4)] and states(*found) == [JobStatus.FINISHED] * 2


def test_a_silent_redis_keeps_the_mark(queue: Any, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ConnectionError

    from queueops.rq import Queue

    found = pair(queue, queue.enqueue(jobs.boom))
    with monkeypatch.context() as cut:

        def silent(*args: Any) -> None:
            raise ConnectionError("cut")

        cut.setattr(Queue, "enqueue_dependents", silent)
        work()
    assert queue.connection.scard(K.static("parents")) == 1
    assert states(*found) == [JobStatus.DEFERRED] * 2
    work()
    assert states(*found) == [JobStatus.FINISHED, JobStatus.DEFERRED]
