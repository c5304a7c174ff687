"""The ledger balances for what passes the doors, and says how much did not."""

from __future__ import annotations

from typing import Any

import pytest
import rq
from django_rq import get_queue

from queueops.rdb.client import default_server
from queueops.rq import SimpleWorker
from queueops.telemetry.census import census
from queueops.telemetry.ledger import Ledger, between, ledger


def test_arithmetic() -> None:
    got = ledger("q", 10, 12, {"accepted": 5}, {"accepted": 15, "completed": 6, "failed": 2, "started": 9})
    assert (dict(got.plus), dict(got.minus), got.remainder) == ({"accepted": 10}, {"completed": 6, "failed": 2}, 0)
    assert got.sentence == "It balances."


@pytest.mark.parametrize(
    ("after", "sentence"), [(13, "1 came from producers without queueops."), (11, "1 gone without a record.")]
)
def test_remainder_in_words(after: int, sentence: str) -> None:
    assert ledger("q", 10, after, {}, {"accepted": 2}).sentence == sentence


def test_a_reset_counter_says_unknown() -> None:
    got = ledger("q", 10, 10, {"accepted": 500}, {"accepted": 3})
    assert got.remainder is None
    assert got.balanced is None
    assert "unknown" in got.sentence


def _moment() -> Any:
    found = census(default_server(), totals=True).queue("default")
    assert found is not None
    return found


def _work() -> None:
    queue = get_queue("default")
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")


@pytest.fixture
def queue(redis: Any, transactional_db: None) -> Any:
    return get_queue("default")


def test_what_passes_the_doors_balances(queue: Any) -> None:
    before = _moment()
    for _ in range(3):
        queue.enqueue("os.getcwd")
    queue.enqueue("os.strerror", "not a number")
    middle = _moment()
    assert middle.open.queued == 4
    assert between(before, middle).remainder == 0
    _work()
    after = _moment()
    got: Ledger = between(before, after)
    assert got.remainder == 0, got
    assert got.plus == {"accepted": 4}
    assert got.minus == {"completed": 3, "failed": 1}


def test_plain_producers_are_the_positive_remainder(queue: Any, redis: Any) -> None:
    before = _moment()
    plain = rq.Queue("default", connection=redis)
    for _ in range(2):
        plain.enqueue("os.getcwd")
    assert between(before, _moment()).remainder == 2


def test_a_job_deleted_behind_our_back_is_the_negative_remainder(queue: Any, redis: Any) -> None:
    job = queue.enqueue("os.getcwd")
    before = _moment()
    rq.job.Job.fetch(job.id, connection=redis).delete()
    got = between(before, _moment())
    assert (got.remainder, got.sentence) == (-1, "1 gone without a record.")
