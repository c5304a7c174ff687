"""Where unique locks end, pass on and follow: what a trial with hostile timing found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import rq
from django_rq import get_queue
from rq import Callback, Repeat
from rq.job import JobStatus

from queueops import ThrottlesExceptions, Unique, controlled
from queueops.operations import requeue
from queueops.primitives.errors import NotAcquired
from queueops.rdb.scripts import run
from queueops.rq import Job
from tests.rq import jobs as singles
from tests.rq import unique_jobs as jobs
from tests.scripts.kit import Doors, K

Work = Callable[..., None]
Totals = Callable[..., dict[str, int]]
WHO = {"actor": "ann", "reason": "because"}
LOCK = "U:tests.rq.unique_jobs.{} on default\x1f{}"


@pytest.fixture(autouse=True)
def _calls() -> None:
    jobs.CALLS.clear()
    singles.CALLS.clear()


def status(job: Any) -> JobStatus:
    found: JobStatus = Job.fetch(job.id, connection=job.connection).get_status()
    return found


def holder(queue: Any, function: str, key: object) -> str:
    found = queue.connection.zrange(K.of("holders", LOCK.format(function, key)), 0, 0)
    return found[0].decode() if found else ""


# --- in the caller ---


def test_a_job_about_to_run_in_its_caller_holds_its_lock(queue: Any, monkeypatch: Any) -> None:
    from queueops.rdb import doors

    take, seen = doors.take, []

    def between(*args: Any, **more: Any) -> Any:
        seen.append(queue.enqueue(jobs.until_executed, 1).id)
        return take(*args, **more)

    monkeypatch.setattr(doors, "take", between)
    job = get_queue("default", is_async=False).enqueue(jobs.until_executed, 1)
    assert set(seen) == {job.id} and jobs.CALLS == [1] and not queue.job_ids


def test_a_caller_that_died_before_it_ran_its_job_keeps_no_lock(queue: Any, monkeypatch: Any, forward: Any) -> None:
    from queueops.rdb import doors

    def dies(*args: Any, **more: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(doors, "take", dies)
        with pytest.raises(KeyboardInterrupt):
            get_queue("default", is_async=False).enqueue(jobs.until_executed, 1)
    queue.enqueue(singles.add, 1, 1)  # the list is not empty
    forward(61)
    assert status(queue.enqueue(jobs.until_executed, 1)) == JobStatus.QUEUED
    assert len(queue.job_ids) == 2


def test_a_lock_taken_meanwhile_refuses_the_caller(queue: Any, monkeypatch: Any, doors: Doors) -> None:
    from queueops.rdb import doors as door

    take = door.take

    def between(connection: Any, job_id: str, *args: Any, **more: Any) -> Any:
        key = K.of("holders", LOCK.format("until_executed", 1))
        other = queue.enqueue(singles.add, 1, 1)
        connection.zrem(key, job_id)
        connection.zadd(key, {other.id: "inf"})
        return take(connection, job_id, *args, **more)

    monkeypatch.setattr(door, "take", between)
    with pytest.raises(NotAcquired, match="unique"):
        get_queue("default", is_async=False).enqueue(jobs.until_executed, 1)
    assert jobs.CALLS == []


# --- the newest arguments ---


@pytest.mark.parametrize("function", [jobs.coalesces, jobs.replaces])
def test_an_older_job_of_plain_rq_does_not_replace_a_newer_one(queue: Any, work: Work, function: Any) -> None:
    rq.Queue("default", connection=queue.connection).enqueue(function, 1, 1)
    newer = queue.enqueue(function, 1, 2)
    work()
    assert jobs.CALLS == [(1, 2)] and status(newer) == JobStatus.FINISHED


def test_who_waits_for_a_replaced_job_waits_for_the_new_one(queue: Any, work: Work, totals: Totals) -> None:
    old = queue.enqueue(jobs.replaces, 1, 1)
    child = queue.enqueue(singles.add, 5, 5, depends_on=old)
    new = queue.enqueue(jobs.replaces, 1, 2)
    assert status(old) == JobStatus.CANCELED
    work()
    assert jobs.CALLS == [(1, 2)] and singles.CALLS == [(5, 5)]
    assert Job.fetch(child.id, connection=queue.connection).dependency_ids == [new.id]
    assert totals() == {"accepted": 3, "superseded": 1, "started": 2, "completed": 2}


def test_the_newer_call_decides_how_long_the_job_may_wait(queue: Any, work: Work) -> None:
    first = queue.enqueue(jobs.coalesces, 1, 1, job_timeout=10, ttl=60)
    assert queue.enqueue(jobs.coalesces, 1, 2).id == first.id
    assert queue.connection.ttl(first.key) == -1
    assert queue.enqueue(jobs.coalesces, 1, 3, ttl=90).id == first.id
    assert 60 < queue.connection.ttl(first.key) <= 90


def test_the_newer_call_decides_about_retries_and_callbacks(queue: Any) -> None:
    first = queue.enqueue(jobs.coalesces, 1, 1, on_success=Callback(singles.on_success))
    queue.enqueue(jobs.coalesces, 1, 2, retry=jobs.LATER)
    found = Job.fetch(first.id, connection=queue.connection)
    assert (found.args, found.retries_left, found._success_callback_name) == ((1, 2), 3, None)


def test_one_that_depends_on_another_takes_the_place_of_the_waiting_one(queue: Any, work: Work) -> None:
    old, parent = queue.enqueue(jobs.coalesces, 1, 1), queue.enqueue(singles.add, 0, 0)
    new = queue.enqueue(jobs.coalesces, 1, 2, depends_on=parent)
    assert new.id != old.id and status(old) == JobStatus.CANCELED
    work()
    assert jobs.CALLS == [(1, 2)] and singles.CALLS == [(0, 0)]


@controlled(Unique("until_executed", key="book {book}", on_conflict="coalesce"), Unique("until_executed", key="n {n}"))
def two_locks(book: int, n: int) -> None:
    jobs.CALLS.append((book, n))


def test_locks_follow_the_newer_arguments(queue: Any, work: Work) -> None:
    first = queue.enqueue(two_locks, 1, 1)
    assert queue.enqueue(two_locks, 1, 2).id == first.id
    assert queue.enqueue(two_locks, 2, 2).id == first.id, "n=2 is its lock now"
    assert queue.enqueue(two_locks, 3, 1).id != first.id, "n=1 is free"
    work()
    assert jobs.CALLS == [(1, 2), (3, 1)]


@pytest.mark.parametrize("function", [jobs.coalesces, jobs.replaces])
def test_one_follows_a_running_job_however_it_was_enqueued(
    queue: Any, work: Work, doors: Doors, forward: Any, function: Any
) -> None:
    forward(0)
    queue.enqueue(function, 1, 0)
    _, token = doors.start() or ("", "")
    for n in range(1, 4):
        queue.enqueue_in(timedelta(seconds=30), function, 1, n)
    last = queue.enqueue(function, 1, 99)
    doors.settle(token)
    forward(31)
    work()
    assert jobs.CALLS == [(1, 99)] and status(last) == JobStatus.FINISHED


def test_a_scheduled_follower_has_the_lock_once_the_running_job_has_ended(queue: Any, doors: Doors) -> None:
    queue.enqueue(jobs.coalesces, 1, 0)
    _, token = doors.start() or ("", "")
    follower = queue.enqueue_in(timedelta(seconds=30), jobs.coalesces, 1, 1)
    doors.settle(token)
    assert holder(queue, "coalesces", 1) == follower.id
    assert queue.enqueue(jobs.coalesces, 1, 2).id == follower.id


# --- by time ---


def test_until_expired_lasts_through_a_run_that_began_late(queue: Any, doors: Doors, forward: Any) -> None:
    forward(0)
    first = queue.enqueue(jobs.until_expired, 1)
    forward(700)  # its ttl is 600 s
    _, token = doors.start() or ("", "")
    assert queue.enqueue(jobs.until_expired, 1).id == first.id
    doors.settle(token)
    assert queue.enqueue(jobs.until_expired, 1).id != first.id


@pytest.mark.parametrize(
    "remove",
    [
        lambda queue, job: job.delete(),
        lambda queue, job: job.cancel(),
        lambda queue, job: rq.job.Job.fetch(job.id, connection=queue.connection).delete(),
        lambda queue, job: rq.job.Job.fetch(job.id, connection=queue.connection).cancel(),
        lambda queue, job: queue.connection.delete(job.key),
        lambda queue, job: rq.Queue("default", connection=queue.connection).empty(),
        lambda queue, job: rq.Queue("default", connection=queue.connection).remove(job),
    ],
)
def test_work_that_never_began_holds_nothing_by_time(queue: Any, remove: Any) -> None:
    job = queue.enqueue(jobs.until_expired, 1)
    queue.enqueue(singles.add, 1, 1)  # the list is not empty
    remove(queue, job)
    assert queue.enqueue(jobs.until_expired, 1).id != job.id


def test_a_requeued_job_holds_its_lock_while_it_waits(queue: Any, work: Work, doors: Doors, forward: Any) -> None:
    forward(0)
    job = queue.enqueue(jobs.until_expired, 1)
    started = doors.start()
    assert started and doors.settle(started[1], "failed")
    queue.connection.zadd(K.of("rq_failed", "default"), {job.id: 1})
    assert requeue([job.id], **WHO).done == 1
    assert queue.connection.ttl(K.of("holders", LOCK.format("until_expired", 1))) == -1
    forward(700)
    assert queue.enqueue(jobs.until_expired, 1).id == job.id


def test_each_repeat_begins_the_time_anew(queue: Any, work: Work, forward: Any) -> None:
    forward(0)
    job = queue.enqueue(jobs.until_expired, 1, repeat=Repeat(times=1, interval=500))
    work()
    forward(501)
    work()
    assert jobs.CALLS == [1, 1]
    forward(300)  # 801 s after the first, 300 after the second
    assert queue.enqueue(jobs.until_expired, 1).id == job.id


# --- what is left behind ---


def test_locks_of_jobs_that_are_gone_are_swept(queue: Any) -> None:
    for n in range(20):
        queue.connection.delete(queue.enqueue(jobs.until_executed, n).key)
    run(queue.connection, "trim", 0, 500, 10**12, 10**15, 5_000, 200)
    assert not queue.connection.keys(K.of("holders", "U:") + "*")
    assert queue.connection.zcard(K.static("instances")) == 0


def test_a_vanished_job_frees_its_lock_though_others_wait(queue: Any) -> None:
    job = queue.enqueue(jobs.until_executed, 1)
    queue.enqueue(singles.add, 1, 1)
    queue.connection.lrem(queue.key, 0, job.id)
    assert queue.enqueue(jobs.until_executed, 1).id != job.id


def test_a_lock_that_was_taken_away_is_told_at_the_start(queue: Any, work: Work) -> None:
    queue.enqueue(jobs.until_executed, 1)
    queue.connection.delete(K.of("holders", LOCK.format("until_executed", 1)))
    work()
    assert jobs.CALLS == [1]
    events = [fields[b"e"] for _, fields in queue.connection.xrange(K.static("log"))]
    assert b"unique.missing" in events


def test_a_job_that_is_put_off_once_a_run_is_not_put_off_too_often(queue: Any, doors: Doors, forward: Any) -> None:
    job = queue.enqueue(jobs.reschedules, 1, repeat=Repeat(times=3, interval=1))
    queue.connection.hset(job.key, "qo_reschedules", 9)
    from queueops.rq import SimpleWorker

    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")
    assert queue.connection.hget(job.key, "qo_reschedules") is None


# --- the breaker ---


@controlled(ThrottlesExceptions(max=1, per=60, key="{n}", backoff=3600))
def throttled(n: int) -> None:
    raise ValueError("no luck")


@pytest.mark.parametrize("how", ["cancelled", "served anew", "looked at"])
def test_an_open_breaker_stays_open(queue: Any, work: Work, forward: Any, how: str) -> None:
    forward(0)
    queue.enqueue(throttled, 1)
    work()
    first, second = queue.enqueue(throttled, 1), queue.enqueue(throttled, 1)
    work()
    if how == "cancelled":
        first.cancel()
    else:
        forward(40 if how == "served anew" else 310)
    work()
    assert status(second) == JobStatus.SCHEDULED
    breaker = next(i for i in queue.connection.zrange(K.static("instances"), 0, -1) if i.startswith(b"B:"))
    assert queue.connection.hget(K.of("rate", breaker.decode()), "until")


def test_counted_where_the_job_stands(queue: Any, work: Work, totals: Totals) -> None:
    first = queue.enqueue(jobs.coalesces, 1, 1)
    assert get_queue("low").enqueue(jobs.coalesces, 1, 1).id != first.id, "each queue has its own lock"
    queue.enqueue(jobs.coalesces, 1, 2)
    work()
    assert totals() == {"accepted": 2, "superseded": 1, "started": 1, "completed": 1}
