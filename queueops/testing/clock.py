"""A clock that a test moves: time passes at once, in the scripts of every process that has installed it."""

from __future__ import annotations

from typing import Any

from queueops.conf import conf
from queueops.rdb import scripts


def install() -> None:
    """Make the scripts of this process ask for the moved clock: one read more a call, so in tests only."""
    scripts.movable_clock = True


def remove() -> None:
    """Undo :func:`install`."""
    scripts.movable_clock = False


def advance(connection: Any, seconds: float) -> None:
    """Let ``seconds`` pass. Expiries of keys are the server's own: they come late, never early."""
    connection.incrby(conf.keys.static("clock"), round(seconds * 1_000_000))


def stop(connection: Any, at: int) -> None:
    """Let the clock stand still at ``at`` (µs since the epoch)."""
    connection.set(conf.keys.static("clock"), f"={at}")
