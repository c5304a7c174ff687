"""once and progress: inside jobs, and outside."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from queueops import once, progress
from queueops.middleware import DeclarationError
from queueops.models import OnceDone, Pause
from queueops.operations.retention import prune
from tests.rq import jobs


def test_the_first_one_only(db: None) -> None:
    with once("charge:1") as first:
        assert first
    with once("charge:1") as second:
        assert not second
    with once("charge:2") as other:
        assert other


def test_what_the_block_writes_and_the_trace_commit_together(transactional_db: None) -> None:
    with pytest.raises(ZeroDivisionError), once("charge:1") as first:
        assert first
        Pause.objects.create(kind="queue", name="q", actor="a", reason="r", created=timezone.now())
        _ = 1 / 0
    assert not Pause.objects.exists() and not OnceDone.objects.exists()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        with once("charge:1") as again:
            assert again
        _ = 1 / 0
    with once("charge:1") as free:
        assert free


def test_two_at_once_one_is_first(transactional_db: None) -> None:
    found: list[bool] = []
    start = threading.Barrier(4)

    def go() -> None:
        start.wait()
        with once("charge:1") as first:
            found.append(first)
        connections.close_all()

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False, False, False, True]


def test_a_trace_ends_when_it_was_said_to(db: None) -> None:
    with once("charge:1", keep=60) as first:
        assert first
    OnceDone.objects.update(keep_until=timezone.now() - timedelta(seconds=1))
    with once("charge:1", keep=timedelta(days=1)) as again:
        assert again
    OnceDone.objects.update(keep_until=timezone.now() - timedelta(seconds=1))
    prune()
    assert not OnceDone.objects.exists()


@pytest.mark.parametrize("key", ["", None, 7])
def test_a_key_is_a_text(key: Any) -> None:
    with pytest.raises(DeclarationError, match="must be a text"), once(key):
        pass


def test_hostile_keys(db: None) -> None:
    for key in ("a\x00b", "\ud800", "k" * 5000, "<b>"):
        with once(key) as first:
            assert first
    assert OnceDone.objects.count() == 4


def test_a_job_that_runs_twice_does_it_once(queue: Any, work: Callable[..., None]) -> None:
    queue.enqueue(jobs.charge, 7)
    queue.enqueue(jobs.charge, 7)
    work()
    assert jobs.CALLS == [True, False]


@pytest.mark.parametrize("fork", [False, True])
def test_progress_is_kept_and_few_writes_tell_it(queue: Any, work: Callable[..., None], fork: bool) -> None:
    job = queue.enqueue(jobs.counts, 500)
    queue.connection.config_resetstat()
    work(fork=fork)
    told = json.loads(queue.connection.hget(job.key, "qo_progress"))
    assert (told["done"], told["total"], told["note"]) == (500, 500, "item 500")
    scripts = queue.connection.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert scripts < 40, "500 calls, a few writes"


def test_outside_a_job_it_does_nothing() -> None:
    progress(1, 2)
    with pytest.raises(ValueError, match="must be a number"):
        progress("1")  # type: ignore[arg-type]
