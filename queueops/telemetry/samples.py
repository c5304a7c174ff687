"""Open work and totals once a minute, kept for an hour: the two moments of a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queueops.telemetry.batch import decoded
from queueops.telemetry.census import Census
from queueops.telemetry.ledger import Ledger, ledger

KEPT = 60
EVERY = 60.0
"""Seconds between two samples."""


def sample_of(moment: Census) -> dict[str, Any]:
    """A census as it is kept: per queue the open jobs and the totals."""
    return {"at": moment.at, "queues": {q.name: [q.open.total, dict(q.totals or {})] for q in moment.queues}}


def ledger_of(samples: Sequence[bytes], queue: str) -> Ledger | None:
    """The ledger of a queue from the last to the first of ``samples``, newest first as they are kept; None with fewer
    than two.
    """
    if len(samples) < 2:
        return None
    moments = [decoded(raw).get("queues") for raw in (samples[-1], samples[0])]
    if not all(isinstance(moment, dict) for moment in moments):
        return None
    (before, totals_before), (after, totals_after) = (dict(moment or {}).get(queue, [0, {}]) for moment in moments)
    return ledger(queue, before, after, totals_before, totals_after)
