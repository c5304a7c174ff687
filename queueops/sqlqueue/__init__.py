"""A lease-based queue in a SQL database. At least once, one host of SQLite or any of PostgreSQL, MySQL, MariaDB."""

from __future__ import annotations

from queueops.sqlqueue.dialects.base import Depth
from queueops.sqlqueue.errors import DatabaseBusy, LeaseLost, MessageTooLarge, PopInTransaction, SQLQueueError
from queueops.sqlqueue.message import Message, Waiting
from queueops.sqlqueue.queue import Item, SQLQueue

__all__ = [
    "DatabaseBusy",
    "Depth",
    "Item",
    "LeaseLost",
    "Message",
    "MessageTooLarge",
    "PopInTransaction",
    "SQLQueue",
    "SQLQueueError",
    "Waiting",
]
