"""What a SQL queue promises, on each database."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queueops.sqlqueue import Depth, Item, LeaseLost, MessageTooLarge, SQLQueue
from queueops.sqlqueue.queue import LARGEST

Later = Callable[[float], None]


def test_first_in_first_out_and_acknowledged_once(queue: SQLQueue) -> None:
    ids = [queue.push(b"%d" % number) for number in range(3)]
    assert ids == sorted(ids)
    taken = [queue.pop() for _ in range(4)]
    assert taken[3] is None
    assert [(m.id, m.data, m.attempts) for m in taken if m] == [(ids[n], b"%d" % n, 1) for n in range(3)]
    for message in taken[:3]:
        assert message
        message.ack()
    assert queue.depth() == Depth(0, 0, 0, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        bytes(range(256)),
        "キュー 🎉".encode(),
        b"'; DROP TABLE x; -- %s %% \\",
        b"\xff" * 70_000,
        os.urandom(300_000),
    ],
    ids=["empty", "nul", "all bytes", "utf-8", "sql", "70,000", "random"],
)
def test_what_is_read_is_what_was_pushed(queue: SQLQueue, data: bytes) -> None:
    queue.push(data)
    assert queue.peek()[0].data == data
    message = queue.pop()
    assert message
    assert message.data == data
    assert type(message.data) is bytes


def test_bytes_of_any_kind_are_taken_and_text_is_not(queue: SQLQueue) -> None:
    queue.push_many([bytearray(b"a"), memoryview(b"b")])  # type: ignore[list-item]
    assert [m.data for m in queue.pop_many(2)] == [b"a", b"b"]
    with pytest.raises(TypeError, match="a message is bytes, not str: encode it first"):
        queue.push("text")  # type: ignore[arg-type]


def test_higher_priority_first(queue: SQLQueue) -> None:
    queue.push(b"low", priority=-1)
    queue.push(b"one")
    queue.push(b"high", priority=7)
    queue.push(b"two")
    assert [m.data for m in queue.pop_many(10)] == [b"high", b"one", b"two", b"low"]


def test_scenario_48_a_lease_is_the_holders_until_it_ends(queue: SQLQueue, later: Later) -> None:
    queue.push(b"x")
    first = queue.pop(lease=10)
    assert first
    later(5)
    assert queue.pop() is None
    later(5.1)
    second = queue.pop(lease=10)
    assert second
    assert (second.id, second.attempts) == (first.id, 2)
    for verb in (first.ack, first.nack, first.release, lambda: first.extend(60)):
        with pytest.raises(LeaseLost, match=r"the lease of message .* has been lost"):
            verb()
    assert first.lost.is_set()
    assert queue.depth() == Depth(0, 1, 0, 0)
    second.nack()
    third = queue.pop()
    assert third
    assert third.attempts == 3
    third.ack()


def test_c40_a_late_ack_of_what_nobody_took_counts_once(queue: SQLQueue, later: Later) -> None:
    """The work is done and nobody has begun it again: it is not done twice. Once it is ready, it is lost."""
    queue.push_many([b"a", b"b"])
    first, second = queue.pop_many(2, lease=1)
    later(2)
    first.ack()
    queue.promote()
    with pytest.raises(LeaseLost):
        second.ack()
    assert queue.depth() == Depth(1, 0, 0, 0)


def test_a_lease_is_extended_from_now(queue: SQLQueue, later: Later) -> None:
    queue.push(b"x")
    message = queue.pop(lease=10)
    assert message
    before = message.lease_until
    message.extend(100)
    assert timedelta(seconds=88) < message.lease_until - before < timedelta(seconds=120)
    later(50)
    assert queue.pop() is None
    message.ack()


@pytest.mark.parametrize("seconds", [0, -1, 86_401, float("nan"), float("inf"), "10", None, True])
def test_leases_that_cannot_be(queue: SQLQueue, seconds: Any) -> None:
    queue.push(b"x")
    message = queue.pop(lease=60)
    assert message
    for call in (message.extend, queue.pop, lambda s: queue.pop_many(1, s)):
        with pytest.raises(ValueError, match="must be"):
            call(seconds)
    message.ack()


def test_given_back_with_a_delay_and_a_reason(queue: SQLQueue, later: Later, sql: Callable[..., Any]) -> None:
    queue.push(b"x")
    message = queue.pop()
    assert message
    message.nack(delay=30, error="no room\x00 left" + "!" * 2000)
    assert queue.depth() == Depth(0, 0, 1, 0)
    ((error,),) = sql("SELECT error FROM {table}")
    assert error.startswith("no room  left!") and len(error) == 1000
    assert queue.pop() is None
    later(30.1)
    assert queue.depth() == Depth(1, 0, 0, 0)
    assert queue.pop()


def test_c28_after_its_last_attempt_a_message_is_dead_and_can_be_replayed(using: str, later: Later) -> None:
    queue = SQLQueue("poison", using, max_attempts=3)
    queue.push(b"bad")
    for _ in range(2):
        assert queue.pop(lease=1)  # the consumer dies: no answer
        later(1.1)
    message = queue.pop()
    assert message and message.attempts == 3
    message.nack(error="bad data")
    assert queue.depth() == Depth(0, 0, 0, 1)
    assert queue.pop() is None
    assert queue.replay() == 1
    again = queue.pop(lease=1)
    assert again and again.attempts == 1
    later(1.1)
    for _ in range(2):
        assert queue.pop(lease=1)
        later(1.1)
    assert queue.pop() is None, "its third holder said nothing, too"
    assert queue.depth() == Depth(0, 0, 0, 1)


def test_a_message_given_back_unused_has_not_been_tried(using: str) -> None:
    queue = SQLQueue("q", using, max_attempts=1)
    queue.push(b"x")
    for _ in range(3):
        message = queue.pop()
        assert message and message.attempts == 1
        message.release()
    assert queue.depth() == Depth(1, 0, 0, 0)


def test_delayed_messages_come_when_they_are_due(queue: SQLQueue, later: Later) -> None:
    queue.push(b"later", delay=60, priority=9)
    queue.push(b"now")
    assert queue.depth() == Depth(1, 0, 1, 0)
    assert [m.data for m in queue.pop_many(5)] == [b"now"]
    later(61)
    message = queue.pop()
    assert message and message.data == b"later"


def test_what_is_due_is_not_left_behind_by_a_full_queue(queue: SQLQueue, later: Later) -> None:
    """A look for what is due is made while there is other work, too: at the latest half a second after the last."""
    queue.push(b"urgent", delay=60, priority=9)
    queue.push_many([b"other"] * 50)
    assert queue.pop()
    later(61)
    queue._looked.at -= 1
    message = queue.pop()
    assert message and message.data == b"urgent"


def test_one_open_message_per_key(queue: SQLQueue, using: str, later: Later) -> None:
    first = queue.push(b"1", dedupe_key="book 7")
    assert queue.push(b"2", dedupe_key="book 7") == first
    assert queue.push(b"3", dedupe_key="Book 7") != first, "case counts"
    assert queue.push(b"4", dedupe_key="book 7 ") != first, "blanks count"
    assert SQLQueue("others", using).push(b"5", dedupe_key="book 7") != first
    message = queue.pop()
    assert message and message.data == b"1"
    assert queue.push(b"6", dedupe_key="book 7") == first, "also while it is worked on"
    message.ack()
    assert queue.push(b"7", dedupe_key="book 7") > first


def test_a_dead_message_frees_its_key_and_is_replayed_only_if_it_is_free(using: str) -> None:
    queue = SQLQueue("q", using, max_attempts=1)
    dead = queue.push(b"1", dedupe_key="k")
    message = queue.pop()
    assert message
    message.nack()
    newer = queue.push(b"2", dedupe_key="k")
    assert newer != dead
    assert queue.replay([dead, 999_999]) == 0
    taken = queue.pop()
    assert taken and taken.id == newer
    taken.ack()
    assert queue.replay([dead]) == 1
    assert queue.push(b"3", dedupe_key="k") == dead


def test_scenario_50_the_oldest_dead_first_and_only_so_many(using: str, sql: Callable[..., Any]) -> None:
    queue = SQLQueue("q", using, max_attempts=1)
    ids = queue.push_many([b"x"] * 5)
    for message in queue.pop_many(5):
        message.nack()
    sql("UPDATE {table} SET due = -id")  # the last one died first
    held = queue.push(b"in flight")
    assert queue.pop()
    assert queue.replay(most=2) == 2
    assert {m.id for m in queue.pop_many(10)} == set(ids[3:])
    assert queue.replay([held]) == 0
    assert queue.replay() == 3


def test_names_compare_as_python_does(using: str) -> None:
    names = ["mail", "Mail", "máil", "a/b", "q+z", "キュー", "%s", "'"]
    for name in names:
        SQLQueue(name, using).push(name.encode())
    for name in names:
        assert [m.data.decode() for m in SQLQueue(name, using).pop_many(9)] == [name]


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x00", "x" * 201, 7, None])
def test_names_that_cannot_be(name: Any) -> None:
    with pytest.raises(ValueError, match="a SQL queue's name has 1 to 200 printable characters"):
        SQLQueue(name)


def test_several_at_once(queue: SQLQueue, later: Later) -> None:
    items: list[bytes | Item] = [b"%d" % number for number in range(1200)]
    items[5] = Item(b"first of all", priority=1)
    items[7] = Item(b"keyed", dedupe_key="k")
    items[9] = Item(b"keyed again", dedupe_key="k")
    ids = queue.push_many(items)
    assert len(ids) == 1200 and ids[9] == ids[7] and len(set(ids)) == 1199
    found = queue.pop_many(1500, lease=5)
    assert [m.data for m in found[:3]] == [b"first of all", b"0", b"1"]
    assert sorted(m.id for m in found) == sorted(set(ids))
    assert {m.id: m.data for m in found}[ids[1199]] == b"1199"
    later(6)
    again = queue.pop_many(2)
    ready = queue.depth().ready - (1199 - 500)  # half a thousand leases were ended at once
    with pytest.raises(LeaseLost, match="the lease of 500 messages") as caught:
        queue.ack_many(found)
    lost = {m.id for m in caught.value.messages}
    assert {m.id for m in again} < lost and len(lost) == 500 and ready == 498
    queue.ack_many(again)
    assert queue.depth() == Depth(498, 0, 0, 0)
    assert queue.push_many([]) == []


def test_all_or_none_are_pushed(queue: SQLQueue) -> None:
    with pytest.raises(TypeError):
        queue.push_many([b"good", "bad"])  # type: ignore[list-item]
    assert queue.depth().open == 0


def test_taken_for_good(queue: SQLQueue) -> None:
    queue.push_many([b"1", b"2"])
    message = queue.pop(delete=True)
    assert message and message.data == b"1"
    assert queue.depth() == Depth(1, 0, 0, 0)
    with pytest.raises(LeaseLost):
        message.ack()


def test_peek_changes_nothing(queue: SQLQueue) -> None:
    first, *_ = queue.push_many([b"1", b"2"], priority=3)
    shown = queue.peek(5)
    assert [(m.id, m.data, m.attempts, m.priority) for m in shown] == [(first, b"1", 0, 3), (first + 1, b"2", 0, 3)]
    assert abs(shown[0].pushed_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert queue.depth() == Depth(2, 0, 0, 0)


def test_oldest_age(queue: SQLQueue, later: Later) -> None:
    assert queue.oldest_age() is None
    queue.push(b"delayed", delay=100)
    assert queue.oldest_age() is None
    queue.push(b"held")
    assert queue.pop(lease=50)
    assert queue.oldest_age() is None
    later(40)
    queue.push(b"new")
    age = queue.oldest_age()
    assert age is not None and age < timedelta(seconds=20)
    later(20)
    age = queue.oldest_age()  # the lease ended 10 s ago, the new one waits for 20
    assert age is not None and timedelta(seconds=20) <= age < timedelta(seconds=40)
    later(100)
    age = queue.oldest_age()
    assert age is not None and timedelta(seconds=120) <= age < timedelta(seconds=140)


def test_purge(using: str) -> None:
    queue = SQLQueue("q", using, max_attempts=1)
    other = SQLQueue("other", using)
    other.push(b"stays")
    queue.push_many([b"x"] * 4)
    queue.push(b"y", delay=60)
    held, died = queue.pop_many(2)
    died.nack()
    assert queue.purge() == 3
    assert queue.depth() == Depth(0, 1, 0, 1)
    assert queue.purge(dead=True) == 1
    held.ack()
    assert other.depth().ready == 1


def test_too_large(queue: SQLQueue) -> None:
    with pytest.raises(MessageTooLarge, match="at most 16,777,216 bytes, this one 16,777,217"):
        queue.push(b"x" * (LARGEST + 1))
    assert queue.depth().open == 0


@pytest.mark.parametrize(
    "options",
    [{"priority": 1.5}, {"priority": 2**40}, {"priority": True}, {"delay": -1}, {"delay": float("nan")},
     {"delay": 10**12}, {"dedupe_key": ""}, {"dedupe_key": "x" * 501}, {"dedupe_key": 7},
     {"dedupe_key": "\ud800"}, {"dedupe_key": "\x00"}],
)  # fmt: skip
def test_pushes_that_cannot_be(queue: SQLQueue, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        queue.push(b"x", **options)
    assert queue.depth().open == 0
