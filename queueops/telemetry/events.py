"""The ledger's events and what each does to open work (queued, parked, scheduled, deferred, running)."""

from __future__ import annotations

PLUS = ("accepted", "replayed", "requeued", "moved_in")
"""Outside to open."""

MINUS = (
    "completed",
    "failed",
    "quarantined",
    "discarded",
    "skipped",
    "superseded",
    "expired",
    "cancelled",
    "moved_out",
)
"""Open to outside."""

WITHIN = ("started", "parked", "woken", "put_back", "crashed", "retried", "failed_attempt", "adopted")
"""Within open: no change of the stock."""

NEVER_OPEN = ("duplicate", "rejected", "refused")
"""Turned away at the enqueue door."""

ALL = PLUS + MINUS + WITHIN + NEVER_OPEN

SAMPLED = (*PLUS, "completed", "failed", "failed_attempt", "quarantined", "adopted")
"""Read every second for the snapshot's rates."""
