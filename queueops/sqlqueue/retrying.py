"""Deadlocks, lock waits, serialisation failures and a busy SQLite are tried again; other errors are not."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError

from queueops.sqlqueue.errors import DatabaseBusy

T = TypeVar("T")

TRIES = 8
PAUSE = 0.005
"""Seconds of the first pause; each next one is up to twice as long."""

_SQLSTATES = {"40001": "serialisation", "40P01": "deadlock", "55P03": "lock wait"}
_MYSQL = {1213: "deadlock", 1205: "lock wait", 1020: "serialisation"}

_counts: Counter[tuple[str, str]] = Counter()
_counting = threading.Lock()


def transient(error: BaseException) -> str | None:
    """What kind of passing trouble this is, None when it is none."""
    state = getattr(error.__cause__, "sqlstate", None)
    if state in _SQLSTATES:
        return _SQLSTATES[state]
    number = error.args[0] if error.args else None
    if number in _MYSQL:
        return _MYSQL[number]
    if isinstance(number, str) and ("database is locked" in number or "database table is locked" in number):
        return "busy"
    return None


def retried(connection: Any, work: Callable[[], T]) -> T:
    """``work()`` until it meets no passing trouble; inside a transaction once, as that one has been rolled back.

    ``work`` is one statement or one transaction. Raises ``DatabaseBusy`` after ``TRIES`` times. A connection that broke
    is closed, so that the next call has a new one.
    """
    if connection.in_atomic_block:
        return work()
    for turn in range(TRIES):
        try:
            return work()
        except OperationalError as error:
            kind = transient(error)
            if kind is None:
                connection.close_if_unusable_or_obsolete()
                raise
            with _counting:
                _counts[connection.alias, kind] += 1
            if turn == TRIES - 1:
                raise DatabaseBusy(
                    f"{connection.alias}: {kind}, {TRIES} times in a row; nothing was changed"
                ) from error
        except InterfaceError:
            connection.close_if_unusable_or_obsolete()
            raise
        time.sleep(random.uniform(0, PAUSE * 2**turn))
    raise AssertionError("unreachable")


def retry_counts() -> dict[tuple[str, str], int]:
    """How often this process tried again, by ``(database, kind)``."""
    with _counting:
        return dict(_counts)
