"""``is_async=False``: a job in its caller has its claims, its hooks and one recorded end, as in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django_rq import get_queue
from rq import Callback, Repeat, Retry
from rq.job import JobStatus

from queueops import DuplicateJob, NotAcquired
from queueops.conf import conf
from queueops.rdb import doors
from queueops.rq.failures import LINE
from tests.rq import hook_jobs, hostile_jobs, jobs, unique_jobs
from tests.rq.hook_jobs import HEARD
from tests.rq.test_features import CLEAN, leftovers
from tests.rq.test_unrecordable import SHOWN


@pytest.fixture
def inline(queue: Any) -> Any:
    return get_queue("default", is_async=False)


@pytest.fixture(autouse=True)
def _fresh(queue: Any) -> Iterator[None]:
    HEARD.clear()
    unique_jobs.CALLS.clear()
    yield
    assert leftovers(queue.connection)["leases"] == leftovers(queue.connection)["running"] == 0


def log(connection: Any) -> list[str]:
    return [fields[b"e"].decode() for _, fields in connection.xrange(conf.keys.static("log"))]


@pytest.mark.parametrize(
    ("function", "how", "status", "outcome", "counted"),
    [
        (hook_jobs.ends, "well", JobStatus.FINISHED, "completed", {"completed": 1}),
        (hook_jobs.ends, "fail", JobStatus.FAILED, "failed", {"failed_attempt": 1, "failed": 1}),
        (hook_jobs.ends, "final", JobStatus.FAILED, "failed", {"failed_attempt": 1, "failed": 1}),
        (hook_jobs.ends, "retry", JobStatus.FAILED, "failed", {"failed_attempt": 1, "failed": 1}),
        (hook_jobs.ends, "discard", JobStatus.CANCELED, "discarded", {"discarded": 1}),
        (hook_jobs.ends, "postpone", JobStatus.SCHEDULED, "postponed", {"put_back": 1}),
        (
            hook_jobs.ends_in_quarantine, "fail",
            JobStatus.FAILED, "quarantined", {"failed_attempt": 1, "quarantined": 1},
        ),
    ],
)  # fmt: skip
def test_each_end(
    inline: Any, totals: Any, function: Any, how: str, status: JobStatus, outcome: str, counted: dict[str, int]
) -> None:
    job = inline.enqueue(function, how)
    assert [(job.id, outcome)] == HEARD and job.connection.lrange("tests:around", 0, -1) == [job.id.encode()]
    assert job.get_status(refresh=False) == job.get_status() == status
    assert totals() == {"accepted": 1, "started": 1, **counted}
    failed = outcome in ("failed", "quarantined")
    assert (job.id in inline.failed_job_registry) == failed
    assert bool(failed and job.latest_result().exc_string) == failed
    if outcome != "postponed":
        assert leftovers(job.connection) == CLEAN


def test_what_a_success_leaves(inline: Any) -> None:
    job = inline.enqueue(jobs.add, 1, 2, result_ttl=70)
    fetched = inline.fetch_job(job.id)
    assert job.return_value() == fetched.return_value() == 3
    assert fetched.started_at <= fetched.ended_at and fetched.worker_name == "sync"
    assert 0 < job.connection.ttl(job.key) <= 70 and job.id in inline.finished_job_registry
    assert not inline.connection.exists("rq:worker:sync", "rq:worker:")
    gone = inline.enqueue(jobs.add, 1, 2, result_ttl=0)
    assert not gone.connection.exists(gone.key)


def test_a_postponed_job_waits_for_a_worker(queue: Any, inline: Any, work: Any, forward: Any, totals: Any) -> None:
    job = inline.enqueue(hook_jobs.ends, "postpone")
    work()
    assert len(HEARD) == 1, "its time has not come"
    forward(61)
    work()
    assert [(job.id, "postponed")] * 2 == HEARD and totals()["started"] == 2


def test_the_run_knows_itself(inline: Any) -> None:
    job = inline.enqueue(jobs.whoami)
    run = job.return_value()
    assert (run.job_id, run.attempt, run.queue, run.worker, len(run.token)) == (job.id, 1, "default", "sync", 32)
    again = inline.enqueue(jobs.counts, 3)
    assert again.connection.exists(conf.keys.of("rq_job", again.id)) and inline.enqueue(jobs.charge, 1)
    assert jobs.CALLS == [True]


@pytest.mark.parametrize("options", [{"retry": Retry(max=3)}, {"retry": Retry(max=3, interval=60)}])
def test_no_retry(inline: Any, work: Any, totals: Any, options: dict[str, Any]) -> None:
    job = inline.enqueue(hook_jobs.ends, "fail", **options)
    work()
    assert [(job.id, "failed")] == HEARD
    assert totals() == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}


def test_no_repeat(inline: Any, work: Any, totals: Any) -> None:
    job = inline.enqueue(hook_jobs.ends, "well", repeat=Repeat(times=2))
    work()
    assert [(job.id, "completed")] == HEARD and totals() == {"accepted": 1, "started": 1, "completed": 1}


def test_callbacks_come_after_the_end(inline: Any, totals: Any) -> None:
    good = inline.enqueue(jobs.add, 1, 2, on_success=Callback(jobs.on_success))
    bad = inline.enqueue(jobs.boom, on_failure=Callback(jobs.on_failure))
    inline.enqueue(jobs.discard, on_success=Callback(jobs.on_success), on_failure=Callback(jobs.on_failure))
    assert [(1, 2), ("success", good.id, 3), ("failure", bad.id, "boom")] == jobs.CALLS
    with pytest.raises(TypeError):
        inline.enqueue(hook_jobs.ends, "well", on_success=Callback(hook_jobs.never_reached))
    assert HEARD[-1][1] == "completed" and totals()["completed"] == 2


def test_what_is_no_exception_reaches_the_caller_once_it_is_recorded(inline: Any, totals: Any) -> None:
    with pytest.raises(SystemExit, match="3"):
        inline.enqueue(hook_jobs.ends, "exit")
    assert [outcome for _, outcome in HEARD] == ["failed"]
    assert totals() == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}


def test_a_hook_that_raises_changes_nothing(inline: Any, totals: Any) -> None:
    inline.enqueue(hook_jobs.ends_beside_a_broken_hook, "well")
    inline.enqueue(hook_jobs.ends_beside_a_broken_hook, "postpone")
    assert [outcome for _, outcome in HEARD] == ["completed", "postponed"] and totals()["completed"] == 1


def test_an_around_hook_decides(inline: Any) -> None:
    assert inline.enqueue(hook_jobs.never_reached).get_status() == JobStatus.CANCELED
    assert [outcome for _, outcome in HEARD] == ["discarded"]


@pytest.mark.parametrize("name", [name for name in SHOWN if name not in ("system exit", "interrupt")])
def test_an_error_of_any_kind(inline: Any, totals: Any, name: str) -> None:
    job = inline.enqueue(hostile_jobs.raises, name)
    assert totals() == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}
    assert job.connection.hget(job.key, "qo_error_line").decode().startswith(SHOWN[name])
    assert SHOWN[name].partition(":")[0] in job.latest_result().exc_string


def test_huge_and_odd_texts(inline: Any) -> None:
    job = inline.enqueue(hostile_jobs.raises, "huge")
    assert len(job.latest_result().exc_string) < 70_000
    assert len(job.connection.hget(job.key, "qo_error_line")) == LINE
    assert inline.enqueue(hostile_jobs.discards).get_status() == JobStatus.CANCELED
    assert inline.enqueue(hostile_jobs.postpones).get_status() == JobStatus.SCHEDULED
    assert inline.enqueue(hostile_jobs.returns, "lock").return_value() == "Unserializable return value"


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize(("name", "value"), [("description", "lone"), ("result_ttl", "object"), ("created_at", "lone")])
def test_a_job_that_cannot_be_saved_fails(inline: Any, totals: Any, name: str, value: str, fail: bool) -> None:
    job = inline.enqueue(hostile_jobs.changes, name, value, fail)
    assert totals() == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}
    stored = job.connection.hgetall(job.key)
    assert stored[b"status"] == b"failed" and job.connection.zscore(conf.keys.of("rq_failed", "default"), job.id)
    assert not fail or stored[b"qo_error_line"] == b"ValueError: after the change"


def test_many(inline: Any, totals: Any) -> None:
    made = inline.enqueue_many([inline.prepare_data(jobs.add, (n, n)) for n in range(3)])
    assert [job.return_value() for job in made] == [0, 2, 4] and jobs.CALLS == [(0, 0), (1, 1), (2, 2)]
    assert totals() == {"accepted": 3, "started": 3, "completed": 3}


def test_one_of_many_that_is_refused_stops_no_other(queue: Any, inline: Any, totals: Any) -> None:
    holder = queue.enqueue(unique_jobs.raises, 9)
    datas = [
        inline.prepare_data(jobs.mail, (1,)),
        inline.prepare_data(jobs.mail, (2,)),
        inline.prepare_data(jobs.mail, (3,)),
        inline.prepare_data(unique_jobs.raises, (9,)),
        inline.prepare_data(jobs.boom),
        inline.prepare_data(jobs.add, (1, 1)),
    ]
    first, second, refused, duplicate, failed, last = inline.enqueue_many(datas)
    assert first.return_value() == 1 and second.return_value() == 2 and last.return_value() == 2 and failed.is_failed
    assert isinstance(refused, NotAcquired) and jobs.CALLS == [1, 2, (1, 1)]
    assert isinstance(duplicate, DuplicateJob) and duplicate.holder_id == holder.id
    assert totals()["skipped"] == 1 and totals()["duplicate"] == 1


def test_many_with_dependencies_in_one_call(inline: Any, totals: Any) -> None:
    child, parent = inline.enqueue_many(
        [
            inline.prepare_data(jobs.add, (2, 2), depends_on="parent", job_id="child"),
            inline.prepare_data(jobs.add, (1, 1), job_id="parent"),
        ]
    )[::-1]
    assert jobs.CALLS == [(1, 1), (2, 2)] and (parent.id, child.id) == ("parent", "child")
    assert totals() == {"accepted": 2, "started": 2, "completed": 2}


def test_many_in_a_transaction_run_when_it_commits(inline: Any) -> None:
    with transaction.atomic():
        made = inline.enqueue_many([inline.prepare_data(jobs.mail, (n,)) for n in range(3)])
        assert jobs.CALLS == []
    assert jobs.CALLS == [0, 1] and len(made) == 3


def test_a_refusal_in_a_commit_hook_keeps_no_other_from_running(inline: Any) -> None:
    with transaction.atomic():
        for n in range(3):
            inline.enqueue(jobs.mail, n)
        inline.enqueue(jobs.add, 1, 1)
    assert jobs.CALLS == [0, 1, (1, 1)]


def test_dependents(queue: Any, inline: Any, work: Any, totals: Any) -> None:
    parent = inline.enqueue(jobs.add, 1, 1)
    met = inline.enqueue(unique_jobs.until_executed, 1, depends_on=parent)
    assert met.get_status() == JobStatus.FINISHED
    assert totals() == {"accepted": 2, "started": 2, "completed": 2}
    waiting = queue.enqueue(jobs.add, 2, 2)
    unmet = inline.enqueue(unique_jobs.until_executed, 2, depends_on=waiting)
    assert unmet.get_status() == JobStatus.DEFERRED and unique_jobs.CALLS == [1]
    work()
    assert unmet.get_status() == JobStatus.FINISHED
    assert totals() == {"accepted": 4, "started": 4, "completed": 4}


def test_dependents_made_during_the_run_go_to_a_worker(queue: Any, inline: Any, work: Any, monkeypatch: Any) -> None:
    seen: list[Any] = []

    def with_child(how: str) -> str:
        seen.append(queue.enqueue(jobs.add, 1, 1, depends_on=hook_jobs.get_current_job()))
        return how

    monkeypatch.setattr(hook_jobs, "_end", with_child)
    inline.enqueue(hook_jobs.ends, "well")
    assert seen[0].get_status() == JobStatus.QUEUED
    work()
    assert seen[0].get_status() == JobStatus.FINISHED


def test_a_run_that_outlives_its_lease_changes_nothing(
    queue: Any, inline: Any, work: Any, totals: Any, forward: Any, monkeypatch: Any
) -> None:
    runs: list[str] = []

    def long_at_first(how: str) -> str:
        runs.append(how)
        if len(runs) == 1:
            forward(600)
            work()  # it is back, and runs
        return how

    monkeypatch.setattr(hook_jobs, "_end", long_at_first)
    job = inline.enqueue(hook_jobs.ends, "well")
    assert [(job.id, "completed"), (job.id, "crashed")] == HEARD
    assert totals() == {"accepted": 1, "started": 2, "crashed": 1, "completed": 1}
    assert job.get_status() == JobStatus.FINISHED


def test_a_silent_redis_at_the_end_reaches_the_caller(inline: Any, monkeypatch: Any, totals: Any) -> None:
    settle = doors.settle

    def silent(*args: Any, **options: Any) -> Any:
        raise hook_jobs.Silent("no answer")

    monkeypatch.setattr(doors, "settle", silent)
    with pytest.raises(hook_jobs.Silent):
        inline.enqueue(hook_jobs.ends, "well")
    monkeypatch.setattr(doors, "settle", settle)
    assert [outcome for _, outcome in HEARD] == ["unknown"]
    (token,) = inline.connection.hkeys(conf.keys.static("leases"))
    doors.settle(inline.connection, token.decode(), "crashed")
    assert totals() == {"accepted": 1, "started": 1, "crashed": 1}


def test_the_ledger_and_the_changelog_tell_the_same(inline: Any) -> None:
    for how in ("well", "fail", "discard", "postpone"):
        inline.enqueue(hook_jobs.ends, how)
    told = [event for event in log(inline.connection) if event.startswith("job.")]
    assert told == [
        "job.started", "job.completed", "job.started", "job.failed", "job.started", "job.discarded", "job.started",
        "job.postponed",
    ]  # fmt: skip
