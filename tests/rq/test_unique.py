"""Uniqueness through RQ's own interface, with real workers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django_rq import get_queue
from rq import Retry
from rq.job import Dependency, JobStatus

from queueops import DuplicateJob, freshness
from queueops.middleware import DeclarationError
from queueops.operations import explain, quarantine, replay
from queueops.rq import Job, SimpleWorker
from tests.rq import unique_jobs as jobs
from tests.scripts.kit import K

Work = Callable[..., None]
Totals = Callable[..., dict[str, int]]
WHO = {"actor": "ann", "reason": "because"}


@pytest.fixture(autouse=True)
def _calls() -> None:
    jobs.CALLS.clear()


def status(job: Any) -> JobStatus:
    found: JobStatus = Job.fetch(job.id, connection=job.connection).get_status()
    return found


def log(queue: Any, *subjects: str) -> list[str]:
    found = [fields[b"e"].decode() for _, fields in queue.connection.xrange(K.static("log"))]
    return [event for event in found if event.startswith(subjects or "")]


LOCKS = ["until_executing", "until_executed", "until_expired", "until_and_while"]


@pytest.mark.parametrize("name", LOCKS)
def test_while_one_waits_another_is_a_duplicate(queue: Any, work: Work, totals: Totals, name: str) -> None:
    function = getattr(jobs, name)
    first = queue.enqueue(function, 1)
    assert queue.enqueue(function, 1).id == first.id
    assert queue.enqueue(function, 2).id != first.id
    assert queue.enqueue_in(timedelta(hours=1), function, 1).id == first.id
    assert len(queue) == 2 and totals()["duplicate"] == 2 and totals()["accepted"] == 2
    work()
    assert sorted(jobs.CALLS) == [1, 2]


@pytest.mark.parametrize("name", LOCKS)
def test_after_its_end_the_next_is_welcome_unless_time_says_no(queue: Any, work: Work, name: str) -> None:
    function = getattr(jobs, name)
    first = queue.enqueue(function, 1)
    work()
    again = queue.enqueue(function, 1)
    work()
    if name == "until_expired":
        assert again.id == first.id and jobs.CALLS == [1]
    else:
        assert again.id != first.id and jobs.CALLS == [1, 1]
        assert not queue.connection.keys(K.of("holders", "U:*"))
        assert not queue.connection.zcard(K.static("instances"))


def test_until_executed_is_kept_through_retries_and_parking(queue: Any, work: Work) -> None:
    first = queue.enqueue(jobs.until_executed, 1, fail=1, retry=Retry(max=2, interval=60))
    work()
    assert jobs.CALLS == [1] and status(first) == JobStatus.SCHEDULED
    assert queue.enqueue(jobs.until_executed, 1).id == first.id
    from queueops import Lock

    lock = Lock("shelf", connection=queue.connection)
    assert lock.acquire("t", 60)
    parked = queue.enqueue(jobs.shelved, 9)
    work()
    assert queue.enqueue(jobs.shelved, 9).id == parked.id
    lock.release("t")
    work()
    assert jobs.CALLS == [1, 9]
    assert queue.enqueue(jobs.shelved, 9).id != parked.id


def test_a_final_failure_and_a_quarantine_free_it(queue: Any, work: Work) -> None:
    first = queue.enqueue(jobs.until_executed, 1, fail=9)
    work()
    assert status(first) == JobStatus.FAILED
    second = queue.enqueue(jobs.until_executed, 1, fail=9)
    assert second.id != first.id
    assert quarantine(second.id, **WHO).done == 1
    assert queue.enqueue(jobs.until_executed, 1).id not in (first.id, second.id)


def test_until_executing_taken_by_another_survives_the_retry_of_the_first(queue: Any, work: Work) -> None:
    first = queue.enqueue(jobs.until_executing, 1, fail=1, retry=Retry(max=2))
    worker = SimpleWorker([queue], connection=queue.connection)
    worker.work(burst=True, max_jobs=1, logging_level="ERROR")
    # the retry took the lock again, since nobody had it
    assert queue.enqueue(jobs.until_executing, 1).id == first.id
    work()
    assert jobs.CALLS == [1, 1]


def test_c02_a_lock_cannot_expire_while_its_job_waits(queue: Any, work: Work, forward: Any) -> None:
    first = queue.enqueue(jobs.until_expired, 1)
    forward(700)
    assert queue.enqueue(jobs.until_expired, 1).id == first.id
    work()
    assert queue.enqueue(jobs.until_expired, 1).id != first.id, "over, and its job no longer waits"
    assert "unique.expired" in log(queue, "unique")


def test_the_ttl_counts_from_when_the_job_may_run(queue: Any, work: Work, forward: Any) -> None:
    first = queue.enqueue_in(timedelta(seconds=1000), jobs.until_expired, 1)
    forward(1001)
    work()
    forward(500)
    assert queue.enqueue(jobs.until_expired, 1).id == first.id
    forward(100)
    assert queue.enqueue(jobs.until_expired, 1).id != first.id


def test_raise_names_the_holder(queue: Any) -> None:
    first = queue.enqueue(jobs.raises, 1)
    with pytest.raises(DuplicateJob, match=first.id) as told:
        queue.enqueue(jobs.raises, 1)
    assert told.value.holder_id == first.id
    first_plain, error, other = queue.enqueue_many(
        [
            queue.prepare_data(jobs.plain, (1,)),
            queue.prepare_data(jobs.raises, (1,)),
            queue.prepare_data(jobs.raises, (2,)),
        ]
    )
    assert isinstance(error, DuplicateJob) and error.holder_id == first.id
    assert status(first_plain) == status(other) == JobStatus.QUEUED


def test_reject_sets_the_duplicate_aside_replayable(queue: Any, work: Work, totals: Totals) -> None:
    first = queue.enqueue(jobs.rejects, 1, 0)
    others = [queue.enqueue(jobs.rejects, 1, n) for n in range(1, 5)]
    assert len({first.id, *(job.id for job in others)}) == 5
    held = {job.decode() for job in queue.connection.zrange(K.of("quarantined", "default"), 0, -1)}
    assert held == {job.id for job in others}
    assert totals() == {"accepted": 1, "rejected": 4}
    result = replay(others[0].id, **WHO)
    assert (result.done, result.skipped) == (0, 1) and f"held by {first.id}" in next(iter(result.reasons))
    work()
    assert jobs.CALLS == [(1, 0)] and totals().get("failed_attempt") is None
    assert replay(others[0].id, **WHO).done == 1
    assert replay(others[1].id, **WHO).skipped == 1, "the replay holds the lock now"
    work()
    assert jobs.CALLS == [(1, 0), (1, 1)]


def test_replace_supersedes_the_waiting_one_and_never_touches_the_running_one(
    queue: Any, work: Work, totals: Totals, doors: Any
) -> None:
    first = queue.enqueue(jobs.replaces, 1, 0)
    second = queue.enqueue(jobs.replaces, 1, 1)
    assert first.id != second.id and len(queue) == 1 and status(first) == JobStatus.CANCELED
    assert totals() == {"accepted": 2, "superseded": 1}
    running, token = doors.start()
    assert running == second.id
    third, fourth = (queue.enqueue(jobs.replaces, 1, n) for n in (2, 3))
    assert status(second) == JobStatus.STARTED and status(third) == JobStatus.CANCELED
    assert doors.start() is None, "it waits for the running one"
    doors.settle(token)
    assert queue.connection.lrange(queue.key, 0, -1) == [fourth.id.encode()]
    work()
    assert jobs.CALLS == [(1, 3)]


def test_43_coalesce_keeps_the_newest_arguments(queue: Any, work: Work, totals: Totals) -> None:
    first = queue.enqueue(jobs.coalesces, 1, 0)
    assert queue.enqueue(jobs.coalesces, 1, 7).id == first.id
    assert totals() == {"accepted": 2, "superseded": 1}
    work()
    assert jobs.CALLS == [(1, 7)]
    again = queue.enqueue(jobs.coalesces, 1, 8)
    queue.connection.delete(again.key)  # the waiting copy is lost
    queue.connection.delete(queue.key)
    assert queue.enqueue(jobs.coalesces, 1, 9).id != again.id
    work()
    assert jobs.CALLS == [(1, 7), (1, 9)]


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_44_one_runs_and_one_waits_with_the_newest(queue: Any, work: Work, doors: Any, outcome: str) -> None:
    queue.enqueue(jobs.coalesces, 1, 0)
    _, token = doors.start()
    followers = {queue.enqueue(jobs.coalesces, 1, n).id for n in range(1, 6)}
    assert len(followers) == 1
    doors.settle(token, outcome)
    work()
    assert jobs.CALLS == [(1, 5)]


def test_38_reschedule_is_bounded_then_quarantined(queue: Any, doors: Any, forward: Any, totals: Totals) -> None:
    queue.enqueue(jobs.reschedules, 1, 0)
    doors.start(span=10_000)
    second = queue.enqueue(jobs.reschedules, 1, 1)
    for turn in range(10):
        assert status(second) == JobStatus.SCHEDULED, turn
        forward(5.1)
        assert doors.start() is None
    assert queue.connection.zscore(K.of("quarantined", "default"), second.id)
    assert totals()["parked"] == 10


def test_33_while_executing_waits_for_the_running_one(queue: Any, work: Work, doors: Any) -> None:
    first, second = (queue.enqueue(jobs.while_executing, 1) for _ in range(2))
    assert first.id != second.id
    running, token = doors.start()
    assert running == first.id and doors.start() is None
    assert second.connection.hget(second.key, "qo_parked").startswith(b"X:")
    doors.settle(token)
    work()
    assert jobs.CALLS == [1]


def test_35_until_and_while_executing(queue: Any, work: Work, doors: Any) -> None:
    first = queue.enqueue(jobs.until_and_while, 1)
    assert queue.enqueue(jobs.until_and_while, 1).id == first.id
    _, token = doors.start()
    second = queue.enqueue(jobs.until_and_while, 1)
    assert second.id != first.id, "the first lock is free since the body started"
    assert doors.start() is None, "the second one is not"
    assert queue.enqueue(jobs.until_and_while, 1).id == second.id
    doors.settle(token)
    work()
    assert jobs.CALLS == [1]


def test_all_arguments_count_and_queues_and_functions_separate(queue: Any) -> None:
    same = queue.enqueue(jobs.all_arguments, 1, b={"x": 1, "y": [2]})
    assert queue.enqueue(jobs.all_arguments, 1, b={"y": [2], "x": 1}).id == same.id
    for args in ((True,), ("1",), (1.0,)):
        assert queue.enqueue(jobs.all_arguments, *args, b={"x": 1, "y": [2]}).id != same.id
    low = get_queue("low")
    assert low.enqueue(jobs.until_executed, 1).id != queue.enqueue(jobs.until_executed, 1).id
    assert low.enqueue(jobs.one, 1).id == queue.enqueue(jobs.other, 1).id


def test_c10_locks_of_different_kinds_with_one_key_are_different(queue: Any) -> None:
    queue.enqueue(jobs.shelved, "shelf")
    queue.enqueue(jobs.until_executed, "*" + "0" * 64)
    queue.enqueue(jobs.until_executed, "a\nb:{c}\x00" + "k" * 10_000)
    assert len(queue.connection.keys(K.of("holders", "U:*"))) == 3
    assert len(queue) == 3


def test_dependency_of_a_duplicate_waits_for_the_holder(queue: Any, work: Work) -> None:
    first = queue.enqueue(jobs.until_executed, 1)
    duplicate = queue.enqueue(jobs.until_executed, 1)
    queue.enqueue(jobs.plain, "after", depends_on=Dependency([duplicate]))
    work()
    assert jobs.CALLS == [1, ("after",)] and first.id == duplicate.id


def test_it_is_on_the_pages(queue: Any, doors: Any, admin_client: Any) -> None:
    first = queue.enqueue(jobs.coalesces, 1)
    _, token = doors.start()
    follower = queue.enqueue(jobs.coalesces, 1)
    queue.enqueue(jobs.until_expired, 2)
    page = admin_client.get("/locks/").content.decode()
    assert "tests.rq.unique_jobs.coalesces on default" in page
    control = "U:tests.rq.unique_jobs.coalesces on default"
    page = admin_client.get("/locks/", {"control": control, "key": "1"}).content.decode()
    assert first.id[:8] in page and follower.id[:8] in page and "owner gone" not in page
    said = explain(follower.id).sentence
    assert f"held by job {first.id}" in said and "place 1 of 1" in said
    doors.settle(token)
    assert first.id[:8] in admin_client.get("/changelog/", {"control": control}).content.decode()
    assert admin_client.get("/").status_code == 200


def test_freshness_says_how_new_the_result_is(queue: Any, work: Work) -> None:
    nothing = freshness(jobs.until_executed, 1, queue="default")
    assert nothing == (None, None)
    queue.enqueue(jobs.until_executed, 1)
    waiting = freshness(jobs.until_executed, 1, queue="default")
    assert waiting.accepted_at and waiting.completed_at is None
    work()
    done = freshness("tests.rq.unique_jobs.until_executed", book=1, queue="default")
    assert done.completed_at and done.completed_at > done.accepted_at == waiting.accepted_at  # type: ignore[operator]
    assert (
        freshness(jobs.until_executed, 2, queue="default") == nothing == freshness(jobs.until_executed, 1, queue="low")
    )
    with pytest.raises(DeclarationError, match=r"declares no Unique"):
        freshness(jobs.plain)
