"""dependency: what jobs use outside is counted with their end, in their function's minute, and never fails them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import dependency
from queueops.rdb.client import server_of
from queueops.rq import Queue
from queueops.rq import dependency as module
from queueops.telemetry import minutes
from queueops.telemetry.minutes import Tally
from tests.rq import dependency_jobs as jobs

Work = Callable[..., None]


def used(function: str) -> dict[str, dict[str, Any]]:
    """By name, over the last minutes."""
    server = server_of("default")
    now = server.connection.time()[0] // 60 * 60
    whole = Tally()
    for found in minutes.read(server, [now - 60, now]).values():
        if tally := found.get("default", {}).get(f"tests.rq.dependency_jobs.{function}"):
            whole.merge(tally.as_json())
    return whole.used


@pytest.mark.parametrize("fork", [False, True])
def test_calls_errors_and_times_are_counted(queue: Any, work: Work, fork: bool) -> None:
    for fail in (False, False, True):
        queue.enqueue(jobs.ask, fail=fail)
    work(fork=fork)
    (name, told) = used("ask").popitem()
    assert (name, told["n"], told["e"], sum(told["b"].values())) == ("courier-api", 3, 1, 3)
    assert 0 <= told["t"] < 5_000_000
    assert not module._runs


def test_it_costs_no_round_trip(queue: Any, work: Work) -> None:
    def trips(*args: Any) -> int:
        queue.enqueue(jobs.many, *args)
        before = queue.connection.info("stats")["total_commands_processed"]
        work()
        return int(queue.connection.info("stats")["total_commands_processed"]) - before

    trips(0)
    calls = [queue.connection.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)]
    for n in (0, 5):
        trips(n)
        calls.append(queue.connection.info("commandstats")["cmdstat_evalsha"]["calls"])
    assert calls[2] - calls[1] == calls[1] - calls[0]


def test_nested_blocks_count_each(queue: Any, work: Work) -> None:
    queue.enqueue(jobs.nested)
    work()
    assert {name: told["n"] for name, told in used("nested").items()} == {"outer": 1, "inner": 2}


def test_a_job_in_its_caller_is_measured_too(redis: Any, queue: Any) -> None:
    Queue("default", connection=redis, is_async=False).enqueue(jobs.ask)
    assert used("ask")["courier-api"]["n"] == 1


def test_names_are_bounded(queue: Any, work: Work) -> None:
    queue.enqueue(jobs.many, 50)
    queue.enqueue(jobs.many, 5)
    work()
    found = used("many")
    assert len(found) == 21 and sum(told["n"] for told in found.values()) == 55
    assert found["…"]["n"] == 30


@pytest.mark.parametrize("name", ["", "\x00\n\ud800<b>", "x" * 5000, 7, None, b"\xff"])
def test_no_name_fails_a_job(queue: Any, work: Work, name: Any) -> None:
    job = queue.enqueue(jobs.ask, name)
    work()
    assert job.get_status(refresh=True) == "finished"
    ((shown, told),) = used("ask").items()
    assert told["n"] == 1 and 1 <= len(shown) <= 100 and shown.isprintable()


def test_a_job_that_lasts_tells_on_its_way(queue: Any, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 0.0)
    seen: list[dict[str, Any]] = []

    class Told(list[bool]):
        def append(self, _value: bool) -> None:
            seen.append(used("lasting"))

    monkeypatch.setattr(jobs, "told", Told())
    queue.enqueue(jobs.lasting, 0)
    work()
    assert seen[0]["slow"]["n"] == 2, "while the job runs"
    assert used("lasting")["slow"]["n"] == 2, "and not again at its end"


def test_outside_a_job_nothing_is_measured(redis: Any) -> None:
    with dependency("courier-api"):
        pass
    with pytest.raises(KeyError), dependency("courier-api"):
        raise KeyError
    assert not module._runs and not used("ask")


def test_what_stands_in_redis_may_be_anything(redis: Any, queue: Any, work: Work) -> None:
    queue.enqueue(jobs.ask)
    work()
    (key,) = redis.keys("*dependency_jobs.ask")
    redis.hset(key, mapping={"dn\x1fa\x00b": "2", "dx\x1fy": "1", "d5\x1fz": "many", "de\x1fcourier-api": "-4"})
    found = used("ask")
    assert found["a\N{REPLACEMENT CHARACTER}b"]["n"] == 2 and found["courier-api"]["e"] == 0 and "y" not in found
