from __future__ import annotations

from typing import Any

from queueops.rdb.scripts import run
from tests.scripts.kit import K


def results(redis: Any, most: int = 10, longest: int = 100) -> list[list[bytes]]:
    found: list[list[bytes]] = run(redis, "job_results", "j", most, longest)
    return found


def test_newest_first_without_what_was_returned(redis: Any) -> None:
    key = K.of("rq_results", "j")
    redis.xadd(key, {"type": 1, "return_value": "x" * 1000, "worker_name": "w"}, id="1-0")
    redis.xadd(key, {"type": 2, "exc_string": "e" * 50, "execution_id": "t", "execution_started_at": "1.5"}, id="2-0")
    redis.xadd(key, {"type": 2, "exc_string": "e" * 101}, id="3-0")
    long, failed, good = results(redis)
    assert failed == [b"2-0", b"2", b"", b"t", b"1.5", b"", b"e" * 50, 50]
    assert (long[6], long[7]) == (b"", 101)
    assert good == [b"1-0", b"1", b"w", b"", b"", b"", b"", 0]
    assert len(results(redis, most=2)) == 2


def test_none_and_another_type(redis: Any) -> None:
    assert results(redis) == []
    redis.set(K.of("rq_results", "j"), "no stream")
    assert results(redis) == []
    assert redis.get(K.of("rq_results", "j")) == b"no stream"
