"""SQLQueue: a queue in one table of a database, whose messages are leased."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from django.db import IntegrityError, OperationalError, connections, transaction

from queueops.sqlqueue.dialects import Dialect, Push, Row, dialect_of
from queueops.sqlqueue.dialects.base import DEAD, DELAYED, READY, Depth
from queueops.sqlqueue.errors import LeaseLost, MessageTooLarge, PopInTransaction
from queueops.sqlqueue.heartbeat import Heartbeat
from queueops.sqlqueue.message import Message, Waiting, moment
from queueops.sqlqueue.retrying import retried

T = TypeVar("T")

LARGEST = 16 * 1024 * 1024
"""Bytes of one message."""
DAY = 86_400
MOST = 10_000
"""Messages that one call takes at most."""
PROMOTE_EVERY = 0.5
"""Seconds between two looks for what has become due while there is other work; else each pop looks."""
AT_ONCE, BYTES_AT_ONCE = 500, 4 * 1024 * 1024
"""Messages, and their bytes, that one INSERT writes."""


class Item(NamedTuple):
    """One message for ``push_many``."""

    data: bytes
    priority: int = 0
    delay: float = 0
    dedupe_key: str | None = None


class SQLQueue:
    """A queue of messages in the database ``using``.

    A message is delivered at least once: who takes it holds it for ``lease`` seconds of the database's clock, and
    acknowledges it by a token; a holder that says nothing in time has lost it to the next. Higher ``priority`` first,
    then in the order of the ids. Taken ``max_attempts`` times without an ``ack``, a message is dead until it is
    replayed. One object may be used by many threads.
    """

    def __init__(self, name: str, using: str = "default", *, max_attempts: int = 5) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= 200 or name != name.strip() or not name.isprintable():
            raise ValueError(
                f"a SQL queue's name has 1 to 200 printable characters, no blanks at its ends; this is {name!r}"
            )
        if not _whole(max_attempts) or not 1 <= max_attempts <= 1_000_000:
            raise ValueError(f"max_attempts must be a whole number from 1 to 1,000,000, not {max_attempts!r}")
        self.name, self.using, self.max_attempts = name, using, max_attempts
        self._looked = threading.local()

    def __repr__(self) -> str:
        return f"SQLQueue({self.name!r}, using={self.using!r})"

    # --- push ---------------------------------------------------------------------------------------------------------

    def push(self, data: bytes, priority: int = 0, delay: float = 0, dedupe_key: str | None = None) -> int:
        """The id of the new message, or of the open one that was pushed with this ``dedupe_key``.

        ``delay`` in seconds. Inside a transaction the message appears with its commit. Raises ``TypeError`` for data
        that is not bytes, ``MessageTooLarge`` above 16 MB, ``ValueError`` for a delay, a
        priority or a key that cannot be.
        """
        made = _push(Item(data, priority, delay, dedupe_key))
        with _packets(len(made.data)):
            return self._do(lambda cursor, to: to.push(cursor, self.name, self.max_attempts, made))

    def push_many(self, items: Iterable[bytes | Item], priority: int = 0, delay: float = 0) -> list[int]:
        """The id of each, in their order; all are written, or none. An ``Item`` has its own priority, delay and key."""
        given = [item if isinstance(item, Item) else Item(item, priority, delay) for item in items]
        pushes = [_push(item) for item in given]
        if not pushes:
            return []
        connection = connections[self.using]

        def write() -> list[int]:
            ids: list[int] = []
            with transaction.atomic(using=self.using), connection.cursor() as cursor:
                to = dialect_of(connection)
                for chunk in _chunks(pushes):
                    if chunk[0].dedupe:
                        ids.append(to.push(cursor, self.name, self.max_attempts, chunk[0]))
                    else:
                        ids += to.push_many(cursor, self.name, self.max_attempts, chunk)
            return ids

        with _packets(max(len(push.data) for push in pushes)):
            return retried(connection, write)

    # --- take ---------------------------------------------------------------------------------------------------------

    def pop(self, lease: float = 10, *, delete: bool = False) -> Message | None:
        """The next message, held for ``lease`` seconds (more than 0, at most a day); None when there is none now.

        ``delete=True`` takes it out of the queue at once: it is delivered at most once, and lost if its holder dies; it
        needs no ``ack``. Raises ``PopInTransaction`` inside a transaction.
        """
        found = self.pop_many(1, lease, delete=delete)
        return found[0] if found else None

    def pop_many(self, n: int, lease: float = 10, *, delete: bool = False) -> list[Message]:
        """Up to ``n`` messages (at most 10,000), under one lease each; see ``pop``."""
        if not _whole(n) or not 1 <= n <= MOST:
            raise ValueError(f"pop_many takes a whole number from 1 to {MOST:,}, not {n!r}")
        span = _lease(lease)
        connection = connections[self.using]
        if connection.in_atomic_block or not connection.get_autocommit():
            raise PopInTransaction(self.name)
        token = uuid4().hex

        def take(count: int) -> list[Row]:
            if delete:
                return self._do(lambda cursor, to: to.claim_and_delete(cursor, self.name, count))
            return self._do(lambda cursor, to: to.claim(cursor, self.name, count, span, token, _holder()))

        looked = time.monotonic() - getattr(self._looked, "at", -DAY) >= PROMOTE_EVERY
        if looked:
            self.promote()
        found = take(n)
        if len(found) < n and not looked and self.promote():
            found += take(n - len(found))
        return [self._message(row) for row in found]

    @contextmanager
    def receive(self, lease: float = 10, *, most: float = 3600) -> Iterator[Message | None]:
        """The next message, or None: acknowledged when the block ends, given back when it raises.

        While the block runs, a thread extends the lease, for up to ``most`` seconds. ``message.lost`` is set when
        that fails; the block should stop then. The end of a block whose lease is lost raises ``LeaseLost``. The block
        may call one of the message's verbs itself.
        """
        _lease(most, "most", 30 * DAY)
        message = self.pop(lease)
        if message is None:
            yield None
            return
        try:
            with Heartbeat(message, lease, most):
                yield message
        except BaseException as error:
            if not message.settled:
                try:
                    message.nack(error=f"{type(error).__name__}: {error}")
                except LeaseLost as lost:
                    error.add_note(str(lost))
            raise
        if not message.settled:
            message.ack()

    def peek(self, n: int = 1) -> list[Waiting]:
        """The next ``n`` messages (at most 10,000) that may be taken; they stay where they are."""
        if not _whole(n) or not 1 <= n <= MOST:
            raise ValueError(f"peek takes a whole number from 1 to {MOST:,}, not {n!r}")
        self.promote()
        found = self._do(lambda cursor, to: to.peek(cursor, self.name, n))
        return [
            Waiting(row.id, row.data, row.attempts, moment(row.pushed_at), moment(row.due), -row.rank) for row in found
        ]

    def promote(self) -> int:
        """Makes ready what has become due, dead what has used its last attempt; how many. Every pop does it."""
        self._looked.at = time.monotonic()
        return self._do(lambda cursor, to: to.promote(cursor, self.name))

    # --- give back ----------------------------------------------------------------------------------------------------

    def settle(self, message: Message, verb: str, delay: float = 0, error: str = "") -> None:
        """``ack``, ``nack`` or ``release`` of a message; see there."""
        span = _delay(delay)
        why = str(error).encode("utf-8", "replace").decode().replace("\x00", " ")[:1000]

        def work(cursor: Any, to: Dialect) -> bool:
            if verb == "ack":
                return to.ack(cursor, message.id, message.token)
            if verb == "release":
                return to.release(cursor, message.id, message.token)
            return to.nack(cursor, message.id, message.token, span, why)

        done = self._do(work)
        if not done:
            message.lost.set()
            raise LeaseLost([message], verb)
        message.settled = True

    def ack_many(self, messages: Sequence[Message]) -> None:
        """Acknowledges those that are still held; then raises ``LeaseLost`` with the others, if there are any."""
        by_token: dict[str, list[Message]] = {}
        for message in messages:
            by_token.setdefault(message.token, []).append(message)
        lost: list[Message] = []
        for token, held in by_token.items():
            for at in range(0, len(held), AT_ONCE):
                part = held[at : at + AT_ONCE]
                ids = sorted({message.id for message in part})
                done = self._ack_part(token, ids)
                for message in part:
                    message.settled = message.id in done
                    if not message.settled:
                        message.lost.set()
                        lost.append(message)
        if lost:
            raise LeaseLost(lost, "ack_many")

    def _ack_part(self, token: str, ids: Sequence[int]) -> set[int]:
        return self._do(lambda cursor, to: to.ack_many(cursor, token, ids))

    def extend(self, message: Message, seconds: float) -> None:
        """Holds a message for ``seconds`` from now; see ``Message.extend``."""
        span = _lease(seconds, "extend")
        end = self._do(lambda cursor, to: to.extend(cursor, message.id, message.token, span))
        if end is None:
            message.lost.set()
            raise LeaseLost([message], "extend")
        message.lease_until = moment(end)

    # --- look and mend ------------------------------------------------------------------------------------------------

    def depth(self) -> Depth:
        """How many messages are ready, leased, delayed and dead, counted now: its cost grows with the queue."""
        return self._do(lambda cursor, to: to.depth(cursor, self.name))

    def oldest_age(self) -> timedelta | None:
        """How long the message that waits longest has waited since it might be taken; None when none waits."""
        since, now = self._do(lambda cursor, to: to.oldest(cursor, self.name))
        return None if since is None else timedelta(microseconds=max(now - since, 0))

    def replay(self, ids: Iterable[int] | None = None, *, most: int = 500) -> int:
        """Dead messages are ready again, with all their attempts: these, or the ``most`` that died first. How many.

        One whose ``dedupe_key`` is that of an open message stays dead: the open one does its work.
        """
        chosen = None if ids is None else sorted(set(ids))
        revived = 0
        for at in range(0, len(chosen) if chosen is not None else 1, AT_ONCE):
            part = None if chosen is None else chosen[at : at + AT_ONCE]
            revived += sum(self._revive(message_id, key) for message_id, key in self._dead(part, most))
        return revived

    def _dead(self, ids: Sequence[int] | None, most: int) -> list[tuple[int, str | None]]:
        return self._do(lambda cursor, to: to.dead(cursor, self.name, ids, most))

    def _revive(self, message_id: int, key: str | None) -> bool:
        def work(cursor: Any, to: Dialect) -> bool:
            with transaction.atomic(using=self.using):
                return to.revive(cursor, self.name, message_id, _hash(key))

        try:
            return self._do(work)
        except IntegrityError:
            return False

    def purge(self, *, dead: bool = False) -> int:
        """Deletes the messages that nobody holds (ready and delayed), or the dead ones; how many."""
        states = [DEAD] if dead else [READY, DELAYED]
        total = 0
        while deleted := self._do(lambda cursor, to: to.purge(cursor, self.name, states, 1000)):
            total += deleted
        return total

    # --- the database -------------------------------------------------------------------------------------------------

    def _do(self, work: Callable[[Any, Dialect], T]) -> T:
        connection = connections[self.using]
        to = dialect_of(connection)

        def run() -> T:
            with connection.cursor() as cursor:
                return work(cursor, to)

        return retried(connection, run)

    def _message(self, row: Row) -> Message:
        return Message(
            self, row.id, row.data, row.attempts, row.token or "", moment(row.due), moment(row.pushed_at), -row.rank
        )


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _micros(value: float, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        raise ValueError(f"{what} must be a number of seconds, not {value!r}")
    return round(value * 1_000_000)


def _lease(value: float, what: str = "lease", most: int = DAY) -> int:
    span = _micros(value, what)
    if not 0 < span <= most * 1_000_000:
        raise ValueError(f"{what} must be more than 0 and at most {most:,} seconds, not {value!r}")
    return span


def _delay(value: float) -> int:
    span = _micros(value, "delay")
    if not 0 <= span <= 3650 * DAY * 1_000_000:
        raise ValueError(f"delay must be from 0 seconds to ten years, not {value!r}")
    return span


def _hash(key: str | None) -> str | None:
    return None if key is None else hashlib.sha256(key.encode()).hexdigest()


def _push(item: Item) -> Push:
    """The message as it is written, after every check: nothing is written of one that cannot be."""
    data, priority, delay, key = item
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a message is bytes, not {type(data).__name__}: encode it first")
    data = bytes(data)
    if len(data) > LARGEST:
        raise MessageTooLarge(f"a message has at most {LARGEST:,} bytes, this one {len(data):,}: store it, push where")
    if not _whole(priority) or abs(priority) > 1_000_000_000:
        raise ValueError(f"priority must be a whole number within ±1,000,000,000, not {priority!r}")
    if key is not None:
        if not isinstance(key, str) or not 0 < len(key) <= 500:
            raise ValueError(f"dedupe_key must be a text of 1 to 500 characters, not {key!r}")
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"dedupe_key must be text that UTF-8 can carry: {key!r}") from error
        if "\x00" in key:
            raise ValueError(f"dedupe_key must not contain NUL: {key!r}")
    return Push(data, -priority, _delay(delay), _hash(key), key)


def _chunks(pushes: Sequence[Push]) -> Iterator[list[Push]]:
    """As many as one INSERT takes, in order; one with a key stands alone."""
    chunk: list[Push] = []
    size = 0
    for push in pushes:
        if chunk and (push.dedupe or chunk[0].dedupe or len(chunk) == AT_ONCE or size + len(push.data) > BYTES_AT_ONCE):
            yield chunk
            chunk, size = [], 0
        chunk.append(push)
        size += len(push.data)
    if chunk:
        yield chunk


@contextmanager
def _packets(size: int) -> Iterator[None]:
    """MySQL says of a message above ``max_allowed_packet`` that it has gone away, or that the packet is too large."""
    try:
        yield
    except OperationalError as error:
        if error.args and error.args[0] in {1153, 2006, 2013} and size > 256 * 1024:
            raise MessageTooLarge(
                f"the database did not take a message of {size:,} bytes: raise max_allowed_packet above twice its size"
            ) from error
        raise


def _holder() -> str:
    return f"{socket.gethostname()[:150]} {os.getpid()}"
