"""Uniqueness on every way in, and of jobs that vanish."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import rq
from django.db import transaction
from django.utils import timezone
from django_rq import get_queue
from rq.job import JobStatus

from queueops.operations import discard, quarantine, requeue
from queueops.rdb.client import Server
from queueops.rdb.doors import tick
from queueops.rq import Job
from tests.rq import jobs as singles
from tests.rq import unique_jobs as jobs
from tests.scripts.kit import K

Work = Callable[..., None]
Totals = Callable[..., dict[str, int]]
WHO = {"actor": "ann", "reason": "because"}


@pytest.fixture(autouse=True)
def _calls() -> None:
    jobs.CALLS.clear()
    singles.CALLS.clear()


def status(job: Any) -> JobStatus:
    found: JobStatus = Job.fetch(job.id, connection=job.connection).get_status()
    return found


def log(queue: Any, *subjects: str) -> list[str]:
    found = [fields[b"e"].decode() for _, fields in queue.connection.xrange(K.static("log"))]
    return [event for event in found if event.startswith(subjects or "")]


def test_scheduled_dependent_and_many(queue: Any, work: Work, totals: Totals) -> None:
    parent = queue.enqueue(jobs.plain, 0)
    child = queue.enqueue(jobs.until_executed, 1, depends_on=parent)
    assert status(child) == JobStatus.DEFERRED
    assert queue.enqueue(jobs.until_executed, 1, depends_on=parent).id == child.id
    assert queue.enqueue(jobs.until_executed, 1).id == child.id
    later = queue.enqueue_at(timezone.now() + timedelta(hours=1), jobs.until_executed, 2)
    datas = [queue.prepare_data(jobs.until_executed, (n,)) for n in (1, 2, 3, 3)]
    many = queue.enqueue_many(datas)
    assert [job.id for job in many[:2]] == [child.id, later.id] and many[2].id == many[3].id
    work()
    assert sorted(map(str, jobs.CALLS)) == ["(0,)", "1", "3"]
    assert totals()["accepted"] == 4 and totals()["duplicate"] == 5


def test_a_dependent_whose_save_never_came_blocks_nobody_for_long(queue: Any, forward: Any) -> None:
    from queueops.rdb import doors as door

    made = queue.create_job(jobs.until_executed, (1,))
    door.enqueue(
        queue.connection, mode="reserve", job_id=made.id, queue="default", function=made.function,
        mapping=made.to_dict(), uniques=made.uniques_text,
    )  # fmt: skip
    assert queue.enqueue(jobs.until_executed, 1).id == made.id, "it may still come"
    forward(61)
    assert queue.enqueue(jobs.until_executed, 1).id != made.id
    assert "unique.taken_over" in log(queue, "unique")


def test_a_plain_producer_is_checked_at_the_claim_door(queue: Any, work: Work, totals: Totals) -> None:
    plain = rq.Queue("default", connection=queue.connection)
    ours = queue.enqueue(jobs.until_executed, 1)
    foreign = plain.enqueue(jobs.until_executed, 1)
    queue.connection.rpoplpush(queue.key, queue.key)  # the foreign one first
    work()
    assert jobs.CALLS == [1] and status(ours) == JobStatus.FINISHED
    assert status(foreign) == JobStatus.CANCELED and totals()["skipped"] == 1
    for _ in range(2):
        plain.enqueue(jobs.rejects, 5)
    work()
    assert jobs.CALLS == [1, (5, 0), (5, 0)], "one after the other: neither is a duplicate"


def test_synchronous(queue: Any, redis: Any) -> None:
    waiting = queue.enqueue(jobs.until_executed, 1)
    sync = get_queue("default", is_async=False)
    assert sync.enqueue(jobs.until_executed, 1).id == waiting.id and jobs.CALLS == []
    assert sync.enqueue(jobs.until_executed, 2).get_status() == JobStatus.FINISHED and jobs.CALLS == [2]
    assert not redis.exists(K.of("holders", "U:tests.rq.unique_jobs.until_executed on default\x1f2"))


def test_in_a_transaction_lock_and_job_appear_with_the_commit(queue: Any, totals: Totals) -> None:
    try:
        with transaction.atomic():
            queue.enqueue(jobs.until_executed, 1)
            queue.enqueue_in(timedelta(hours=1), jobs.until_executed, 2)
            queue.enqueue_many([queue.prepare_data(jobs.until_executed, (3,))])
            raise LookupError
    except LookupError:
        pass
    assert not queue.connection.keys("*U:*") and not totals()
    holder = queue.enqueue(jobs.raises, 9)
    with transaction.atomic():
        assert queue.enqueue(jobs.until_executed, 1) is None
        scheduled = queue.enqueue_in(timedelta(hours=1), jobs.until_executed, 2)
        (many,) = queue.enqueue_many([queue.prepare_data(jobs.until_executed, (3,))])
        queue.enqueue(jobs.raises, 9)
        assert totals() == {"accepted": 1}
    assert totals() == {"accepted": 4, "duplicate": 1} and status(holder) == JobStatus.QUEUED
    assert queue.enqueue(jobs.until_executed, 2).id == scheduled.id
    assert queue.enqueue(jobs.until_executed, 3).id == many.id


# --- jobs that vanish -----------------------------------------------------------------------------------------------


def _delete_hash(queue: Any, job: Any) -> None:
    queue.connection.delete(job.key)


def _delete_list(queue: Any, job: Any) -> None:
    queue.connection.delete(queue.key)


@pytest.mark.parametrize(
    "remove",
    [
        lambda queue, job: discard(job.id, **WHO),
        lambda queue, job: quarantine(job.id, **WHO),
        lambda queue, job: rq.Queue("default", connection=queue.connection).empty(),
        lambda queue, job: queue.empty(),
        lambda queue, job: job.delete(),
        lambda queue, job: rq.job.Job.fetch(job.id, connection=queue.connection).delete(),
        lambda queue, job: job.cancel(),
        lambda queue, job: rq.job.Job.fetch(job.id, connection=queue.connection).cancel(),
        _delete_hash,
        _delete_list,
    ],
    ids=["discard", "quarantine", "rq empty", "empty", "delete", "rq delete", "cancel", "rq cancel", "hash", "list"],
)  # fmt: skip
def test_c05_the_job_vanished_and_so_did_its_lock(queue: Any, work: Work, remove: Any) -> None:
    first = queue.enqueue(jobs.until_executed, 1)
    remove(queue, first)
    second = queue.enqueue(jobs.until_executed, 1)
    assert second.id != first.id
    work()
    assert jobs.CALLS == [1]


def test_c06_no_push_no_lock(queue: Any) -> None:
    with pytest.raises(Exception, match=r"[Pp]ickle|lambda"):
        queue.enqueue(jobs.until_executed, 1, meta={"f": lambda: 1})
    assert not queue.connection.keys("*U:*")
    assert status(queue.enqueue(jobs.until_executed, 1)) == JobStatus.QUEUED


def test_a_failed_job_is_requeued_under_its_lock(queue: Any, work: Work) -> None:
    first = queue.enqueue(jobs.until_executed, 1, fail=1)
    work()
    second = queue.enqueue(jobs.until_executed, 1)
    assert second.id != first.id
    assert requeue(first.id, **WHO).skipped == 1
    work()
    assert requeue(first.id, **WHO).done == 1
    assert queue.enqueue(jobs.until_executed, 1).id == first.id


def test_c08_indexes_follow_the_live_locks(queue: Any, work: Work, forward: Any) -> None:
    """Of many locks with a ttl, some of finished jobs and some of lost ones, nothing is left when it is over."""
    server = Server("default", queue.connection, ("default",))
    for n in range(60):
        queue.enqueue(jobs.until_expired, n)
    work()
    for n in range(60, 80):
        queue.connection.delete(queue.enqueue(jobs.until_expired, n).key)
    work()
    assert queue.connection.zcard(K.static("instances")) == 80
    forward(601)
    while any(tick(server)):
        pass
    assert not queue.connection.zcard(K.static("instances")) and not queue.connection.zcard(K.static("pump"))
    assert not queue.connection.keys(K.of("holders", "*")) and not queue.connection.keys(K.of("rate", "*"))


# --- many, some of which depend on others -----------------------------------------------------------------------------


def test_many_with_dependencies_are_counted_and_unique(queue: Any, work: Work, totals: Totals) -> None:
    parent = queue.enqueue(singles.add, 0, 0)
    alone, first, second = queue.enqueue_many(
        [
            queue.prepare_data(jobs.until_executed, (1,), depends_on=parent),
            queue.prepare_data(jobs.until_executed, (1,), depends_on=parent),
            queue.prepare_data(singles.add, (1, 1)),
        ]
    )
    assert second.id == first.id and status(alone) == JobStatus.QUEUED
    assert totals() == {"accepted": 3, "duplicate": 1}
    work()
    assert totals() == {"accepted": 3, "duplicate": 1, "started": 3, "completed": 3}
    assert jobs.CALLS == [1] and first.get_status() == JobStatus.FINISHED


def test_each_is_enqueued_after_its_parents(queue: Any, work: Work, totals: Totals) -> None:
    parent = queue.enqueue(singles.add, 0, 0)
    queue.enqueue_many(
        [
            queue.prepare_data(singles.add, (3, 3), depends_on=["b"]),
            queue.prepare_data(singles.add, (2, 2), depends_on=parent, job_id="b"),
        ]
    )
    work()
    assert singles.CALLS == [(0, 0), (2, 2), (3, 3)] and totals()["accepted"] == 3


def test_a_circle_is_refused_before_anything_is_written(queue: Any, totals: Totals) -> None:
    with pytest.raises(ValueError, match="a -> b -> a"):
        queue.enqueue_many(
            [
                queue.prepare_data(singles.add, (0, 0)),
                queue.prepare_data(singles.add, (1, 1), depends_on="b", job_id="a"),
                queue.prepare_data(singles.add, (2, 2), depends_on="a", job_id="b"),
            ]
        )
    assert not totals() and not queue.job_ids


def test_many_with_dependencies_appear_with_the_commit(queue: Any, work: Work, totals: Totals) -> None:
    parent = queue.enqueue(singles.add, 0, 0)
    datas = [queue.prepare_data(singles.add, (1, 1), depends_on=parent), queue.prepare_data(singles.add, (2, 2))]
    try:
        with transaction.atomic():
            queue.enqueue_many(datas)
            raise LookupError
    except LookupError:
        pass
    assert (
        totals() == {"accepted": 1} and queue.job_ids == [parent.id] and not queue.deferred_job_registry.get_job_ids()
    )
    with transaction.atomic():
        _, dependent = queue.enqueue_many(datas)
        assert totals() == {"accepted": 1}
    assert totals() == {"accepted": 3} and status(dependent) == JobStatus.DEFERRED
    work()
    assert sorted(singles.CALLS) == [(0, 0), (1, 1), (2, 2)]
