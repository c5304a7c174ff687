"""What a SQL queue refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queueops.sqlqueue.message import Message


class SQLQueueError(Exception):
    """Any of the errors below."""


class LeaseLost(SQLQueueError):
    """The lease of these messages had ended, and they are somebody else's or gone: nothing was changed."""

    def __init__(self, messages: Sequence[Message], verb: str) -> None:
        self.messages = tuple(messages)
        one = len(messages) == 1
        which = f"message {messages[0].id} of {messages[0].queue.name!r}" if one else f"{len(messages)} messages"
        super().__init__(
            f"{verb}: the lease of {which} has been lost; "
            f"{'it was' if one else 'they were'} not changed. Use a longer lease, or extend it while you work."
        )


class PopInTransaction(SQLQueueError):
    """A pop inside a transaction: its lease would be invisible to others, or rolled back with the caller's work."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"pop from {name!r} inside a transaction: its lease would be seen by nobody before the commit, and undone "
            f"by a rollback. Pop first, then open the transaction; ack may be inside."
        )


class MessageTooLarge(SQLQueueError, ValueError):
    """More bytes than a queue takes (16 MB), or than the database's packets may have."""


class DatabaseBusy(SQLQueueError):
    """A deadlock, a lock or a busy database, several times in a row; nothing was changed."""
