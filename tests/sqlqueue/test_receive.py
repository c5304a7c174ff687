"""receive: acknowledged at its end, given back when it raises, its lease kept alive meanwhile; and transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from queueops.sqlqueue import Depth, LeaseLost, PopInTransaction, SQLQueue

Later = Callable[[float], None]


def test_received_and_acknowledged(queue: SQLQueue) -> None:
    queue.push(b"x")
    with queue.receive() as message:
        assert message and message.data == b"x"
    assert queue.depth() == Depth(0, 0, 0, 0)
    with queue.receive() as message:
        assert message is None


def test_received_and_given_back(queue: SQLQueue, sql: Callable[..., Any]) -> None:
    queue.push(b"x")
    with pytest.raises(RuntimeError, match="no luck"), queue.receive():
        raise RuntimeError("no luck")
    assert queue.depth() == Depth(1, 0, 0, 0)
    assert sql("SELECT error FROM {table}") == [("RuntimeError: no luck",)]
    with queue.receive() as message:
        assert message and message.attempts == 2
        message.nack(delay=5)
    assert queue.depth() == Depth(0, 0, 1, 0)


def test_a_lease_lost_while_receiving_is_told(queue: SQLQueue, later: Later) -> None:
    queue.push(b"x")
    with pytest.raises(LeaseLost), queue.receive(lease=30) as message:
        later(31)
        taken = queue.pop()
        assert message and taken and taken.id == message.id
    taken.ack()


def test_the_heartbeat_keeps_a_short_lease_alive_and_tells_of_its_loss(
    queue: SQLQueue, sql: Callable[..., Any]
) -> None:
    queue.push(b"x")
    with pytest.raises(LeaseLost), queue.receive(lease=0.3) as message:
        assert message
        first = message.lease_until
        while message.lease_until == first:  # set by the heartbeat alone
            assert not message.lost.wait(0.02)
        sql("UPDATE {table} SET token = 'somebody'")
        assert message.lost.wait(30)


def test_the_heartbeat_gives_up_work_that_hangs(queue: SQLQueue) -> None:
    queue.push(b"x")
    with pytest.raises(LeaseLost), queue.receive(lease=0.3, most=0.2) as message:
        assert message
        taken = None
        while taken is None:
            taken = queue.pop(lease=60)
        assert taken.id == message.id


def test_a_push_joins_the_callers_transaction(queue: SQLQueue, using: str) -> None:
    with pytest.raises(RuntimeError, match="undo"), transaction.atomic(using=using):
        queue.push(b"1", dedupe_key="k")
        queue.push_many([b"2", b"3"])
        raise RuntimeError("undo")
    assert queue.pop() is None
    with transaction.atomic(using=using):
        queue.push(b"kept")
    assert queue.pop()


def test_a_pop_inside_a_transaction_is_refused(queue: SQLQueue, using: str) -> None:
    queue.push(b"x")
    with transaction.atomic(using=using), pytest.raises(PopInTransaction, match="Pop first, then open the transaction"):
        queue.pop()
    with transaction.atomic(using=using), pytest.raises(PopInTransaction), queue.receive():
        raise AssertionError("not reached")
    assert queue.depth() == Depth(1, 0, 0, 0)


def test_an_ack_commits_with_the_work(queue: SQLQueue, using: str) -> None:
    queue.push(b"x")
    message = queue.pop()
    assert message
    with pytest.raises(RuntimeError), transaction.atomic(using=using):
        message.ack()
        raise RuntimeError
    assert queue.depth() == Depth(0, 1, 0, 0)
    with transaction.atomic(using=using):
        message.ack()
    assert queue.depth() == Depth(0, 0, 0, 0)
