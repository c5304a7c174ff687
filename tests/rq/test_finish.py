"""The direct end of a plain success is what RQ records, and everything else is left to RQ."""

from __future__ import annotations

from typing import Any

import pytest
from rq import Repeat, Retry, get_current_job
from rq.job import Job as RQJob
from rq.registry import FinishedJobRegistry

from queueops.rq import Job, settling
from queueops.rq.recorder import trimmed


def value(given: Any) -> Any:
    return given


def unpicklable() -> Any:
    return lambda: None


def rename() -> None:
    job = get_current_job()
    assert job
    job.description = "changed by its own body"


def comparable(commands: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Commands as Redis sees them, without the ones that touch nothing."""
    shown = [tuple(_text(part) for part in command) for command in commands]
    return sorted(command for command in shown if not command[1].endswith((":dependents", ":dependencies")))


def _text(part: Any) -> str:
    if isinstance(part, bytes):
        return part.decode()
    return str(part.value) if hasattr(part, "value") else str(part)


@pytest.fixture
def ends(monkeypatch) -> list[tuple[list[Any] | None, list[Any]]]:
    """For each success: the direct commands (or None), and those of RQ."""
    found: list[tuple[list[Any] | None, list[Any]]] = []
    direct, replay = settling.plain_success, settling.Settling._replay
    held: list[list[Any] | None] = []

    def both(*args: Any) -> None:
        held.append(direct(*args))

    def record(self: Any, job: Any, outcome: str, commands: list[tuple[Any, ...]], **options: Any) -> None:
        found.append((held.pop(), trimmed(commands, job, self.token)))
        replay(self, job, outcome, commands, **options)

    monkeypatch.setattr(settling, "plain_success", both)
    monkeypatch.setattr(settling.Settling, "_replay", record)
    return found


@pytest.mark.parametrize(
    ("function", "args", "options"),
    [
        (value, (None,), {}),
        (value, ({"キュー": [1, b"x"]},), {}),
        (value, (1,), {"description": "something", "result_ttl": 70, "job_timeout": 30, "ttl": 100}),
        (value, (1,), {"retry": Retry(max=3, interval=[1, 2]), "failure_ttl": 5, "meta": {"tags": ["a"]}}),
        (value, (1,), {"job_id": "of-my-own", "at_front": True}),
        (unpicklable, (), {}),
    ],
)
def test_the_commands_are_those_of_rq(queue, work, ends, function, args, options):
    queue.enqueue_call(function, args=args, timeout=options.pop("job_timeout", None), **options)
    work()
    [(direct, of_rq)] = ends
    assert direct is not None
    assert comparable(direct) == comparable(of_rq)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (value, {"result_ttl": 0}),
        (value, {"result_ttl": -1}),
        (value, {"repeat": Repeat(times=1)}),
        (rename, {}),
    ],
)
def test_what_is_special_is_left_to_rq(queue, work, ends, function, options):
    queue.enqueue_call(function, args=(1,) if function is value else (), **options)
    work()
    assert ends[0][0] is None


def test_a_change_by_the_body_is_saved(queue, work):
    job = queue.enqueue(rename)
    work()
    job.refresh()
    assert job.description == "changed by its own body"


@pytest.mark.parametrize("fork", [False, True])
def test_the_result_is_there_for_rq(queue, work, fork):
    job = queue.enqueue(value, {"a": 1})
    work(fork=fork)
    found = RQJob.fetch(job.id, connection=queue.connection)
    assert found.return_value() == {"a": 1}
    assert found.get_status() == "finished"
    assert found.started_at and found.ended_at and found.started_at <= found.ended_at
    assert job.id in FinishedJobRegistry(queue=queue)
    assert 0 < queue.connection.ttl(job.key) <= 500


def test_times_are_read_as_rq_reads_them(queue, work):
    job = queue.enqueue(value, 1)
    work()
    ours = Job.fetch(job.id, connection=queue.connection)
    theirs = RQJob.fetch(job.id, connection=queue.connection)
    for name in ("created_at", "enqueued_at", "started_at", "ended_at", "last_heartbeat"):
        assert getattr(ours, name) == getattr(theirs, name)
    queue.connection.hset(job.key, "created_at", "2020-01-02T03:04:05Z")
    assert Job.fetch(job.id, connection=queue.connection).created_at.isoformat() == "2020-01-02T03:04:05+00:00"
