"""Quarantine: when a job has failed or crashed often enough to be set aside."""

from __future__ import annotations

from queueops.middleware.base import Middleware
from queueops.primitives import options


class Quarantine(Middleware):
    """A final failure with at least ``after`` attempts (over all requeues) is quarantined; below it, failed.

    It never cuts retries short nor adds one. ``crashes``: attempts whose process died, within a day, until the job
    is quarantined instead of being put back; 1 = never run it again by itself. Every job has a quarantine rule:
    this one replaces ``QUEUEOPS["QUARANTINE"]``.
    """

    MOST = 1_000

    def __init__(self, after: int = 3, crashes: int = 2) -> None:
        self.after = options.whole("Quarantine", "after", after, most=self.MOST)
        self.crashes = options.whole("Quarantine", "crashes", crashes, most=self.MOST)

    def __repr__(self) -> str:
        return f"<Quarantine(after={self.after}, crashes={self.crashes})>"

    def policy(self) -> dict[str, int]:
        """As stored on the job."""
        return {"after": self.after, "crashes": self.crashes}
