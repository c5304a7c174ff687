"""freshness: whether what a page shows is as new as the newest call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import freshness
from queueops.conf import conf
from tests.rq import unique_jobs as jobs


@pytest.fixture
def stamps(redis: Any, queue: Any, work: Callable[..., None]) -> Callable[..., None]:
    """What is noted of ``until_executed(1)``: one that was accepted and has completed, and then this (µs)."""
    queue.enqueue(jobs.until_executed, 1)
    work()
    (key,) = redis.scan_iter(conf.keys.of("fresh", "*"))

    def put(**values: int) -> None:
        redis.delete(key)
        redis.hset(key, mapping=values)

    return put


def told() -> tuple[float | None, ...]:
    return tuple(at and at.timestamp() for at in freshness(jobs.until_executed, 1))


def started(doors: Any) -> str:
    """The token of the next job's run."""
    found: tuple[str, str] | None = doors.start()
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ({"accepted": 1, "began": 2, "completed": 3}, (1, 3)),
        ({"accepted": 2, "began": 2, "completed": 3}, (2, 3)),
        ({"accepted": 2, "began": 1, "completed": 3}, (2, 1)),
        ({"accepted": 4, "began": 1, "completed": 3}, (4, 1)),
        ({"began": 1, "completed": 3}, (None, 3)),
        ({"accepted": 1}, (1, None)),
        ({"accepted": 1, "completed": 3}, (1, 3)),
    ],
)
def test_a_run_is_as_new_as_its_start_where_a_newer_call_waits(
    stamps: Callable[..., None], values: dict[str, int], answer: tuple[float | None, ...]
) -> None:
    stamps(**{name: second * 1_000_000 for name, second in values.items()})
    assert told() == answer


def test_without_a_queue_it_asks_where_enqueue_sends_to(queue: Any, settings: Any) -> None:
    queue.enqueue(jobs.until_executed, 1)
    known = freshness(jobs.until_executed, 1, queue="default")
    assert known.accepted_at
    names = sorted(settings.RQ_QUEUES, key=lambda name: name == "default")
    assert names[0] != "default" == names[-1]
    settings.RQ_QUEUES = {name: settings.RQ_QUEUES[name] for name in names}
    assert freshness(jobs.until_executed, 1) == known
    settings.RQ_QUEUES = {name: settings.RQ_QUEUES[name] for name in names[:-1]}
    assert freshness(jobs.until_executed, 1) == freshness(jobs.until_executed, 1, queue=names[0]) == (None, None)


def test_a_run_under_way_does_not_make_a_newer_call_fresh(queue: Any, doors: Any, work: Callable[..., None]) -> None:
    queue.enqueue(jobs.coalesces, 1, 1)
    token = started(doors)
    queue.enqueue(jobs.coalesces, 1, 2)
    doors.settle(token)
    stale = freshness(jobs.coalesces, 1, 2)
    assert stale.accepted_at and stale.completed_at and stale.completed_at < stale.accepted_at
    work()
    fresh = freshness(jobs.coalesces, 1, 2)
    assert fresh.completed_at and fresh.accepted_at == stale.accepted_at and fresh.completed_at > fresh.accepted_at


def test_of_runs_side_by_side_the_one_that_began_last_counts(queue: Any, doors: Any) -> None:
    queue.enqueue(jobs.until_executing, 1)
    older = started(doors)
    queue.enqueue(jobs.until_executing, 1)
    newer = started(doors)
    doors.settle(newer)
    known = freshness(jobs.until_executing, 1)
    doors.settle(older)
    assert freshness(jobs.until_executing, 1) == known
    assert known.accepted_at and known.completed_at and known.completed_at > known.accepted_at
