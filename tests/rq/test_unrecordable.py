"""Recording the end of a run cannot fail: each job ends once, with a reason that can be read."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from rq import Callback, Repeat, Retry
from rq.job import JobStatus

from queueops.conf import conf
from queueops.rq import SimpleWorker
from tests.rq import hostile_jobs as hostile
from tests.rq.test_features import CLEAN, leftovers

both = pytest.mark.parametrize("fork", [False, True], ids=["simple", "forking"])

SHOWN = {
    "lone": "ValueError: \\ud800",
    "no text": "NoText: (its text cannot be shown)",
    "not a text": "NotAText: (its text cannot be shown)",
    "leaves in text": "LeavesInText: (its text cannot be shown)",
    "evil text": "EvilTextError: evil",
    "no notes": "NoNotes: ",
    "nameless": "NamelessError: ",
    "group": "ExceptionGroup: \\ud800 (2 sub-exceptions)",
    "fail": "Fail: \\ud800",
    "textless fail": "TextlessFail: (its text cannot be shown)",
    "system exit": "SystemExit: \\ud800",
    "interrupt": "KeyboardInterrupt: \\ud800",
    "endless postpone": "AttributeError: 'EndlessPostpone' object has no attribute 'seconds'",
}


def runs(connection: Any) -> int:
    return int(connection.llen("tests:runs"))


def failed_once(job: Any, totals: Any) -> str:
    """The error line of a job that was run once and has failed for ever."""
    connection = job.connection
    assert runs(connection) == 1
    assert totals() == {"accepted": 1, "started": 1, "failed_attempt": 1, "failed": 1}
    assert leftovers(connection) == CLEAN
    assert job.get_status(refresh=True) == JobStatus.FAILED
    assert connection.zscore(conf.keys.of("rq_failed", "default"), job.id)
    assert job.latest_result().exc_string
    line: str = connection.hget(job.key, "qo_error_line").decode()
    return line


@both
@pytest.mark.parametrize("name", SHOWN)
def test_an_error_of_any_kind(queue: Any, work: Any, totals: Any, name: str, fork: bool) -> None:
    job = queue.enqueue(hostile.raises, name)
    work(fork=fork)
    assert failed_once(job, totals).startswith(SHOWN[name])
    assert SHOWN[name].partition(":")[0] in job.latest_result().exc_string


@both
def test_a_huge_text_is_cut(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    job = queue.enqueue(hostile.raises, "huge")
    work(fork=fork)
    assert len(failed_once(job, totals)) == 500
    text = job.latest_result().exc_string
    assert text.startswith("Traceback") and text.rstrip().endswith("x") and "characters left out" in text
    assert len(text) < 70_000


def test_the_log_gets_no_huge_text(queue: Any, work: Any, caplog: pytest.LogCaptureFixture) -> None:
    queue.enqueue(hostile.raises, "huge")
    queue.enqueue(hostile.raises, "lone")
    with caplog.at_level(logging.ERROR, "rq.worker"):
        work()
    texts = [record.getMessage() for record in caplog.records]
    assert any("\\ud800" in text for text in texts)
    assert max(map(len, texts)) < 70_000 and all(text.encode() for text in texts)


@both
def test_verdicts_with_odd_words(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    gone, put, odd = (
        queue.enqueue(hostile.discards),
        queue.enqueue(hostile.postpones),
        queue.enqueue(hostile.raises, "textless discard"),
    )
    work(fork=fork)
    assert gone.get_status() == odd.get_status() == JobStatus.CANCELED and put.get_status() == JobStatus.SCHEDULED
    assert totals() == {"accepted": 3, "started": 3, "discarded": 2, "put_back": 1}
    whys = [f.get(b"why") for _, f in queue.connection.xrange(conf.keys.static("log"))]
    assert b"\\ud800" in whys and b"postponed for 60 s: \\ud800" in whys


@both
@pytest.mark.parametrize("what", ["lock", "raises", "lone"])
def test_a_result_that_cannot_be_kept_is_a_success_without_it(
    queue: Any, work: Any, totals: Any, what: str, fork: bool
) -> None:
    job = queue.enqueue(hostile.returns, what)
    work(fork=fork)
    assert job.get_status() == JobStatus.FINISHED and runs(queue.connection) == 1
    assert totals() == {"accepted": 1, "started": 1, "completed": 1}
    assert job.return_value() == (hostile.LONE if what == "lone" else "Unserializable return value")


@both
def test_a_returned_retry_that_cannot_be_pickled(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    queue.enqueue(hostile.returns, "retry")
    work(fork=fork)
    assert totals() == {"accepted": 1, "started": 2, "failed_attempt": 2, "retried": 1, "failed": 1}


@both
@pytest.mark.parametrize("how", ["fail", "complete"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("description", "lone"), ("result_ttl", "object"), ("failure_ttl", "object"), ("created_at", "lone")],
)
def test_a_job_that_cannot_be_saved_fails(
    queue: Any, work: Any, totals: Any, name: str, value: str, how: str, fork: bool
) -> None:
    job = queue.enqueue(hostile.changes, name, value, how == "fail")
    work(fork=fork)
    if how == "complete" and name == "failure_ttl":
        return  # not looked at
    line = failed_once(job, totals)
    assert line == "ValueError: after the change" if how == "fail" else ": " in line


@both
def test_meta_that_cannot_be_pickled_keeps_no_job_from_its_end(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    options: dict[str, Any] = {"meta": {"kept": 1}}
    retried = queue.enqueue(hostile.changes, "meta", "meta", True, retry=Retry(max=1), **options)
    repeated = queue.enqueue(hostile.changes, "meta", "meta", False, repeat=Repeat(times=1), **options)
    plain = queue.enqueue(hostile.changes, "meta", "meta", False, **options)
    later = queue.enqueue(hostile.changes, "meta", "meta", True, retry=Retry(max=1, interval=60), **options)
    work(fork=fork)
    assert [job.get_status() for job in (retried, repeated, plain, later)] == [
        JobStatus.FAILED, JobStatus.FINISHED, JobStatus.FINISHED, JobStatus.SCHEDULED,
    ]  # fmt: skip
    assert totals() == {
        "accepted": 5, "started": 6, "completed": 3, "failed_attempt": 3, "retried": 2, "failed": 1,
    }  # fmt: skip
    assert all(job.get_meta() == {"kept": 1} for job in (retried, repeated, plain, later))


@both
def test_a_failure_callback_that_cannot_be_shown(queue: Any, work: Any, totals: Any, fork: bool) -> None:
    job = queue.enqueue(hostile.raises, "no text", on_failure=Callback(hostile.callback))
    work(fork=fork)
    assert failed_once(job, totals)


def test_an_exception_handler_that_fails(queue: Any, totals: Any) -> None:
    job = queue.enqueue(hostile.raises, "lone")
    worker = SimpleWorker([queue], connection=queue.connection, exception_handlers=[hostile.handler])
    worker.work(burst=True, logging_level="ERROR")
    assert failed_once(job, totals) == SHOWN["lone"]


def test_the_name_of_an_error_that_cannot_be_shown_is_the_same_each_time(queue: Any, work: Any) -> None:
    first, second = (queue.enqueue(hostile.raises, "no text") for _ in range(2))
    work()
    names = [queue.connection.hget(job.key, "qo_error") for job in (first, second)]
    assert names[0] and names[0] == names[1]
