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

WITHIN = ("started", "parked", "woken", "put_back", "crashed", "retried", "failed_attempt")
"""Within open: no change of the stock."""

BESIDE = ("gone", "discarded_held")
"""Counted beside the ledger: noticed when a job's data are missing; held work given up."""

NEVER_OPEN = ("duplicate", "rejected", "refused")
"""Turned away at the enqueue door."""

ALL = PLUS + MINUS + WITHIN + NEVER_OPEN + BESIDE

SAMPLED = (*PLUS, "completed", "failed", "failed_attempt", "quarantined")
"""Read every second for the snapshot's rates."""
