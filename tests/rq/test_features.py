"""What RQ documents holds behind the doors, and is counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rq import Callback, Repeat, Retry
from rq import Queue as PlainQueue
from rq.exceptions import DuplicateJobError
from rq.job import JobStatus

from queueops import NotAcquired
from queueops.conf import conf
from queueops.rdb.keys import instance
from tests.rq import jobs


def leftovers(connection: Any) -> dict[str, int]:
    keys = conf.keys
    return {
        "leases": connection.hlen(keys.static("leases")),
        "running": connection.hlen(keys.static("running")),
        "waiting": connection.zcard(keys.of("waiting", "default")),
        "parked": connection.zcard(keys.of("parked", "default")),
        "wip": connection.zcard(keys.of("rq_wip", "default")),
    }


CLEAN = {"leases": 0, "running": 0, "waiting": 0, "parked": 0, "wip": 0}


@pytest.mark.parametrize("fork", [False, True])
def test_results_failures_and_what_is_left(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    good, bad = queue.enqueue(jobs.add, 1, 2), queue.enqueue(jobs.boom)
    work(fork=fork)
    assert good.return_value() == 3 and good.get_status() == JobStatus.FINISHED
    assert bad.get_status() == JobStatus.FAILED
    assert "boom" in bad.latest_result().exc_string
    assert totals() == {"accepted": 2, "started": 2, "completed": 1, "failed_attempt": 1, "failed": 1}
    assert leftovers(queue.connection) == CLEAN


def test_dependents_of_a_success_and_of_a_failure(queue: Any, work: Any, totals: Any) -> None:
    first = queue.enqueue(jobs.add, 1, 1)
    second = queue.enqueue(jobs.add, 2, 2, depends_on=first)
    assert second.get_status() == JobStatus.DEFERRED
    failing = queue.enqueue(jobs.boom)
    third = queue.enqueue(jobs.add, 3, 3, depends_on=failing)
    work()
    assert second.return_value() == 4
    assert third.get_status() == JobStatus.DEFERRED
    assert totals() == {"accepted": 4, "started": 3, "completed": 2, "failed_attempt": 1, "failed": 1}


def test_dependent_added_while_the_job_runs(queue: Any, work: Any, totals: Any, monkeypatch: Any) -> None:
    first = queue.enqueue(jobs.add, 1, 1)
    seen: list[Any] = []

    def add_dependent(a: int, b: int) -> int:
        seen.append(queue.enqueue(jobs.whoami, depends_on=first))
        return a + b

    monkeypatch.setattr(jobs, "add", add_dependent)
    work()
    assert seen[0].get_status() == JobStatus.FINISHED
    assert totals()["completed"] == 2 and leftovers(queue.connection) == CLEAN


def test_retry_at_once_and_later(queue: Any, work: Any, totals: Any) -> None:
    now, later = queue.enqueue(jobs.boom, retry=Retry(max=1)), queue.enqueue(jobs.boom, retry=Retry(max=1, interval=60))
    work()
    assert now.get_status() == JobStatus.FAILED
    assert later.get_status() == JobStatus.SCHEDULED
    assert totals() == {"accepted": 2, "started": 3, "failed_attempt": 3, "retried": 2, "failed": 1}
    due = queue.connection.zscore(conf.keys.of("rq_scheduled", "default"), later.id)
    assert abs(due - queue.connection.time()[0] - 60) <= 2


def test_returned_retry(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.again)
    work()
    assert job.get_status() == JobStatus.FAILED
    assert totals() == {"accepted": 1, "started": 2, "failed_attempt": 2, "retried": 1, "failed": 1}


def test_callbacks(queue: Any, work: Any) -> None:
    good = queue.enqueue(jobs.add, 1, 2, on_success=Callback(jobs.on_success))
    bad = queue.enqueue(jobs.boom, on_failure=Callback(jobs.on_failure))
    work()
    assert ("success", good.id, 3) in jobs.CALLS
    assert ("failure", bad.id, "boom") in jobs.CALLS


def test_repeat_counts_each_run(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.add, 1, 2, repeat=Repeat(times=2, interval=0))
    work()
    assert jobs.CALLS == [(1, 2)] * 3
    assert job.get_status() == JobStatus.FINISHED
    assert totals() == {"accepted": 3, "started": 3, "completed": 3}
    assert leftovers(queue.connection) == CLEAN


def test_result_ttl_of_zero_deletes_the_job(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.locked, 1, result_ttl=0)
    work()
    assert not queue.connection.exists(job.key)
    assert totals()["completed"] == 1 and leftovers(queue.connection) == CLEAN
    assert not queue.connection.exists(conf.keys.of("holders", instance("lock", "tests.rq.jobs.locked", "1")))


def test_enqueue_many_in_one_pipeline(queue: Any, work: Any, totals: Any) -> None:
    made = queue.enqueue_many([queue.prepare_data(jobs.add, (n, n)) for n in range(10)])
    assert len(made) == 10 and queue.connection.llen(queue.key) == 10
    work()
    assert totals() == {"accepted": 10, "started": 10, "completed": 10}


def test_enqueue_on_a_callers_pipeline(queue: Any, totals: Any) -> None:
    queue.connection.script_flush()
    with queue.connection.pipeline() as pipeline:
        queue.enqueue(jobs.add, 1, 2, pipeline=pipeline)
        assert queue.connection.llen(queue.key) == 0
        pipeline.execute()
    assert queue.connection.llen(queue.key) == 1 and totals() == {"accepted": 1}


def test_sync_queue_runs_under_its_claims(redis: Any, transactional_db: None, totals: Any) -> None:
    from django_rq import get_queue

    queue = get_queue("default", is_async=False)
    assert queue.enqueue(jobs.mail, 1).get_status() == JobStatus.FINISHED
    queue.enqueue(jobs.mail, 2)
    with pytest.raises(NotAcquired, match="tests-mail"):
        queue.enqueue(jobs.mail, 3)
    assert jobs.CALLS == [1, 2]
    assert totals() == {"accepted": 3, "started": 2, "completed": 2, "skipped": 1}


def test_unique_id_is_refused_and_an_open_id_is_a_duplicate(queue: Any, work: Any, totals: Any) -> None:
    queue.enqueue(jobs.add, 1, 1, job_id="same")
    with pytest.raises(DuplicateJobError):
        queue.enqueue(jobs.add, 2, 2, job_id="same", unique=True)
    again = queue.enqueue(jobs.add, 3, 3, job_id="same")
    assert again.args == (1, 1) and queue.connection.llen(queue.key) == 1
    work()
    assert jobs.CALLS == [(1, 1)]
    queue.enqueue(jobs.add, 4, 4, job_id="same")
    work()
    assert jobs.CALLS == [(1, 1), (4, 4)]
    assert totals() == {"accepted": 2, "duplicate": 1, "started": 2, "completed": 2}


def test_scheduled_jobs_run_when_due(queue: Any, work: Any, totals: Any) -> None:
    soon = queue.enqueue_in(timedelta(seconds=0), jobs.add, 1, 1)
    late = queue.enqueue_at(datetime.now(UTC) + timedelta(hours=1), jobs.add, 2, 2)
    work()
    assert soon.get_status() == JobStatus.FINISHED and late.get_status() == JobStatus.SCHEDULED
    assert totals() == {"accepted": 2, "started": 1, "completed": 1}


def test_naive_time_is_local_and_warns_with_the_call_site(queue: Any) -> None:
    with pytest.warns(UserWarning, match="no zone") as caught:
        queue.enqueue_at(datetime.now() + timedelta(hours=1), jobs.add, 1, 1)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("fork", [False, True])
def test_jobs_of_plain_rq_are_adopted(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    plain = PlainQueue("default", connection=queue.connection)
    for n in range(4):
        plain.enqueue("tests.rq.jobs.mail", n)
    work(fork=fork)
    assert totals() == {"started": 2, "completed": 2, "parked": 2}
    assert queue.connection.zcard(conf.keys.of("line", instance("rate", "tests-mail"))) == 2


def test_a_plain_job_whose_claims_cannot_be_made_does_not_run_without_them(queue: Any, work: Any, totals: Any) -> None:
    job = PlainQueue("default", connection=queue.connection).enqueue("tests.rq.jobs.locked", None)
    work()
    assert jobs.CALLS == []
    assert b"its claims cannot be made" in queue.connection.hget(job.key, "qo_quarantined")


def test_postpone_discard_fail(queue: Any, work: Any, totals: Any) -> None:
    put, gone, failed = (
        queue.enqueue(jobs.postpone),
        queue.enqueue(jobs.discard),
        queue.enqueue(jobs.fail, retry=Retry(3)),
    )
    work()
    assert put.get_status() == JobStatus.SCHEDULED and queue.connection.hget(put.key, "qo_attempts") == b"0"
    assert gone.get_status() == JobStatus.CANCELED
    assert failed.get_status() == JobStatus.FAILED
    assert totals() == {
        "accepted": 3, "started": 3, "put_back": 1, "discarded": 1, "failed_attempt": 1, "failed": 1,
    }  # fmt: skip


def test_result_that_cannot_be_pickled_fails_the_job(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.unpicklable)
    work()
    assert leftovers(queue.connection) == CLEAN
    assert totals()["started"] == 1 and job.get_status() in (JobStatus.FAILED, JobStatus.FINISHED)


def test_crashes_count_and_quarantine(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.die)
    work(fork=True)
    assert queue.connection.hget(job.key, "qo_quarantined") == b"worker died 2 times (signal 9)"
    assert totals() == {"accepted": 1, "started": 2, "crashed": 2, "quarantined": 1}
    assert job.is_failed and queue.connection.zscore(queue.failed_job_registry.key, job.id) == float("inf")


def test_exit_without_a_word_is_a_crash(queue: Any, work: Any, totals: Any) -> None:
    queue.enqueue(jobs.leave)
    work(fork=True)
    assert totals() == {"accepted": 1, "started": 2, "crashed": 2, "quarantined": 1}


def test_final_failure_after_enough_attempts_is_quarantined(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.boom, retry=Retry(max=2))
    work()
    assert totals() == {"accepted": 1, "started": 3, "failed_attempt": 3, "retried": 2, "quarantined": 1}
    assert queue.connection.zcard(conf.keys.of("quarantined", "default")) == 1
    assert len(queue.connection.hget(job.key, "qo_error")) == 16


def test_cancel_and_delete_leave_nothing_in_our_indexes(queue: Any, totals: Any) -> None:
    queue.enqueue(jobs.add, 1, 1).cancel()
    queue.enqueue(jobs.add, 1, 1).delete()
    assert totals() == {"accepted": 2, "cancelled": 1, "discarded": 1}
    assert leftovers(queue.connection) == CLEAN


def test_drop_when_refused(queue: Any, work: Any, totals: Any) -> None:
    holders = conf.keys.of("holders", instance("semaphore", "tests-disk"))
    queue.connection.zadd(holders, {"a": 9e15, "b": 9e15})
    job = queue.enqueue(jobs.dropping, 1)
    work()
    assert job.get_status() == JobStatus.CANCELED and job.id not in queue.failed_job_registry
    assert totals() == {"accepted": 1, "skipped": 1}


def test_current_execution(queue: Any, work: Any) -> None:
    job = queue.enqueue(jobs.whoami)
    work()
    run = job.return_value()
    assert run.job_id == job.id and run.attempt == 1 and len(run.token) == 32


def test_half_a_job_and_a_vanished_one(queue: Any, work: Any, totals: Any) -> None:
    half, gone = queue.enqueue(jobs.add, 1, 1), queue.enqueue(jobs.add, 1, 1)
    queue.connection.hdel(half.key, "data")
    queue.connection.delete(gone.key)
    broken = queue.enqueue(jobs.add, 1, 1)
    queue.connection.hset(broken.key, "created_at", "yesterday")
    work()
    assert totals() == {
        "accepted": 3, "quarantined": 2, "gone": 1, "started": 1, "failed_attempt": 1,
    }  # fmt: skip
    assert leftovers(queue.connection) == CLEAN


def test_expired_job_is_named_so(queue: Any, work: Any, totals: Any) -> None:
    job = queue.enqueue(jobs.add, 1, 1, ttl=100)
    queue.connection.delete(job.key)
    work()
    assert totals() == {"accepted": 1, "expired": 1}


@pytest.mark.parametrize("name", ["a/b", "q+z", "キュー", "two\nlines", "x" * 300, "<img src=x>"])
def test_any_queue_name_works(redis: Any, transactional_db: None, totals: Any, name: str) -> None:
    from queueops.rq import Queue, SimpleWorker

    queue = Queue(name, connection=redis)
    queue.enqueue(jobs.locked, 1)
    SimpleWorker([queue], connection=redis).work(burst=True, logging_level="ERROR")
    assert totals(name) == {"accepted": 1, "started": 1, "completed": 1}


def test_a_sync_enqueue_does_not_run_another_ones_job(queue: Any) -> None:
    from django_rq import get_queue

    queue.enqueue(jobs.add, 1, 1, job_id="same")
    again = get_queue("default", is_async=False).enqueue(jobs.add, 2, 2, job_id="same")
    assert jobs.CALLS == [] and again.args == (1, 1)


def test_a_sync_enqueue_on_an_emptied_redis_knows_the_pauses_first(redis: Any, transactional_db: None) -> None:
    from django.utils import timezone
    from django_rq import get_queue

    from queueops.models import Pause

    Pause.objects.create(
        kind="function", name="tests.rq.jobs.mail", reason="r", actor="a", created=timezone.now(), state="in_force"
    )
    with pytest.raises(NotAcquired, match="paused"):
        get_queue("default", is_async=False).enqueue(jobs.mail, 1)
    assert jobs.CALLS == []


def test_a_burst_looks_at_everything(queue: Any, work: Any, totals: Any) -> None:
    queue.connection.zadd(conf.keys.of("holders", instance("lock", "tests.rq.jobs.locked", "1")), {"a": 9e15})
    for _ in range(250):
        queue.enqueue(jobs.locked, 1)
    last = queue.enqueue(jobs.add, 1, 1)
    work()
    assert last.get_status() == JobStatus.FINISHED and totals()["parked"] == 250


def test_words_of_any_kind_settle(queue: Any, work: Any, totals: Any) -> None:
    queue.enqueue(jobs.odd_words)
    work()
    assert totals() == {"accepted": 1, "started": 1, "discarded": 1}
    _, fields = queue.connection.xrevrange(conf.keys.static("log"), count=1)[0]
    assert len(fields[b"why"]) <= 1000


def test_tags_are_kept_as_plain_text_and_survive_what_a_job_does_to_its_meta(queue: Any, work: Any, redis: Any) -> None:
    job = queue.enqueue(jobs.add, 1, 2, meta={"tags": ["red", "a\x1fb", "", 7, "red", "x" * 300]})
    field = redis.hget(job.key, "qo_tags")
    assert field == b"\x1fred\x1fa b\x1f" + b"x" * 100 + b"\x1f"
    job.meta["tags"] = ["other"]
    job.save_meta()
    queue.fetch_job(job.id).save()
    assert redis.hget(job.key, "qo_tags") == field
    work()
    assert job.get_status() == JobStatus.FINISHED
    for meta in (None, {"tags": "red"}, {"tags": {"a": 1}}, {"tags": ["\ud800"]}):
        odd = queue.enqueue(jobs.add, 1, 2, meta=meta)
        assert redis.hget(odd.key, "qo_tags") in (None, b"\x1f?\x1f")


def test_a_failed_try_leaves_its_error_as_plain_text(queue: Any, work: Any, redis: Any) -> None:
    job = queue.enqueue(jobs.boom, retry=Retry(max=1, interval=600))
    work()
    line = redis.hget(job.key, "qo_error_line")
    assert line and b"boom" in line
    (why,) = (f[b"why"] for _, f in redis.xrange(conf.keys.static("log")) if f[b"e"] == b"job.retried")
    assert why == line
