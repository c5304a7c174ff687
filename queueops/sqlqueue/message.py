"""A message that is held: it is acknowledged, given back or kept longer by id and token, or not at all."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queueops.sqlqueue.queue import SQLQueue


def moment(micros: int) -> datetime:
    """The time (UTC) of so many µs since 1970."""
    return datetime.fromtimestamp(micros / 1_000_000, UTC)


@dataclass(slots=True, eq=False)
class Message:
    """``attempts`` counts this one. ``lease_until`` is a time of the database's clock.

    Every verb acts only while ``token`` is the message's; else it raises ``LeaseLost`` and changes nothing. A verb
    inside a transaction takes effect with its commit: an ``ack`` commits with the work, or neither.
    """

    queue: SQLQueue
    id: int
    data: bytes
    attempts: int
    token: str
    lease_until: datetime
    pushed_at: datetime
    priority: int
    settled: bool = field(default=False, repr=False)
    """Whether one of the verbs that end a lease has been carried out."""
    lost: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set as soon as the heartbeat of ``receive`` or a verb learns that the lease has been lost: stop working then."""

    def ack(self) -> None:
        """Done: the message is deleted."""
        self.queue.settle(self, "ack")

    def nack(self, delay: float = 0, error: str = "") -> None:
        """Not done: it may be taken again after ``delay`` seconds; after its last attempt it is dead.

        ``error`` says why, in up to 1,000 characters; it stays with the message.
        """
        self.queue.settle(self, "nack", delay=delay, error=error)

    def release(self) -> None:
        """Given back at once, as if it had not been taken: this attempt is not counted."""
        self.queue.settle(self, "release")

    def extend(self, seconds: float) -> None:
        """The lease ends ``seconds`` from now: more than 0, at most a day, else ``ValueError``."""
        self.queue.extend(self, seconds)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message as ``peek`` shows it: nobody holds it."""

    id: int
    data: bytes
    attempts: int
    pushed_at: datetime
    since: datetime
    priority: int
