"""once and progress: inside jobs, and outside."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from queueops import once, progress
from queueops.middleware import DeclarationError
from queueops.models import OnceDone, Pause
from queueops.operations.retention import prune
from queueops.rdb import scripts
from tests.rq import jobs, progress_jobs


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


class Silent:
    """No text of it can be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.fixture
def tell(queue: Any, work: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Any]]]:
    """Run a job that says all of this, ``pause`` seconds apart; what was written of it."""
    module = sys.modules["queueops.rq.progress"]
    written: list[Any] = []
    now = [1000.0]

    def run(connection: Any, name: str, *args: Any) -> Any:
        written.append(json.loads(args[-1]))
        return scripts.run(connection, name, *args)

    monkeypatch.setattr(module, "scripts", SimpleNamespace(run=run))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def go(words: list[tuple[Any, ...]], pause: float = 0.0) -> list[Any]:
        def wait() -> None:
            now[0] += pause

        progress_jobs.TOLD[:], progress_jobs.BETWEEN[:] = words, [wait]
        job = queue.enqueue(progress_jobs.tells)
        work()
        assert job.get_status(refresh=True) == "finished"
        return [(told["done"], told["total"], told["note"]) for told in written]

    yield go
    progress_jobs.TOLD.clear()
    progress_jobs.BETWEEN.clear()


BAD = [
    (float("nan"), 10), (float("inf"), 10), (float("-inf"), 10), (5, float("inf")), (5, float("nan")), (-5, 10),
    (5, -10), (10**400, 10**401), (5, 10**400), (10**5000,), ("1", 10), (None, 10), (1, "10"), (True, 10), (b"1",),
    ([1],), (1j,), (object(),), (1, 10, Silent()), (Decimal("sNaN"), 1),
]  # fmt: skip


@pytest.mark.parametrize("words", BAD, ids=lambda words: "-".join(type(word).__name__ for word in words))
def test_what_cannot_be_shown_is_not_and_never_fails_the_job(
    tell: Callable[..., list[Any]], caplog: pytest.LogCaptureFixture, words: tuple[Any, ...]
) -> None:
    with caplog.at_level("WARNING", "queueops.rq"):
        assert tell([words, words, (1, 2, "good")]) == [(1, 2, "good")]
    warned = [record.getMessage() for record in caplog.records if "is not shown" in record.getMessage()]
    assert len(warned) == 1, "once for each run"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((0, 0), (0, 0)), ((10**15, 10**15), (10**15, 10**15)), ((Decimal("1.5"), 3), (1.5, 3)), ((7,), (7, None)),
        ((Fraction(1, 2), 1.0), (0.5, 1.0)), ((12, 10), (12, 10)),
    ],
)  # fmt: skip
def test_numbers_of_any_type_are_told(tell: Callable[..., list[Any]], words: Any, told: Any) -> None:
    assert tell([words]) == [(*told, "")]


def test_a_note_is_cut_and_always_text(tell: Callable[..., list[Any]]) -> None:
    assert tell([(1, 2, "\ud800" + "x" * 500)]) == [(1, 2, "?" + "x" * 199)]


def test_at_most_two_writes_a_second_and_one_at_the_end(tell: Callable[..., list[Any]]) -> None:
    told = tell([(n, 3000) for n in range(1, 3001)], pause=0.001)
    assert len(told) == 7 and told[-1] == (3000, 3000, ""), "3 seconds, and the end"


def test_a_loop_in_which_every_step_is_an_end_writes_no_more_than_that(tell: Callable[..., list[Any]]) -> None:
    assert len(tell([(n, n) for n in range(1, 3001)], pause=0.001)) == 7


def test_the_ends_of_parts_are_told_at_once_where_they_are_far_enough_apart(tell: Callable[..., list[Any]]) -> None:
    parts = [(n, 100, f"part {part}") for part in range(3) for n in range(1, 101)]
    assert [words for words in tell(parts, pause=0.02) if words[0] == 100] == [
        (100, 100, f"part {n}") for n in range(3)
    ]


def test_outside_a_job_it_does_nothing() -> None:
    progress(1, 2)
    progress("1")  # type: ignore[arg-type]
