"""quarantine, replay, discard, requeue, run_now: the verbs over jobs."""

from __future__ import annotations

from collections.abc import Iterable

from queueops.operations import batches
from queueops.operations.batches import BulkResult, Progress
from queueops.operations.selection import Selection

Chosen = Selection | str | Iterable[str]
"""Ids, or a selection. Of every verb: ``rate`` is at most so many jobs per second; ``background`` returns at once,
the monitor does the work, and :func:`batches.result` tells how far it is."""


def quarantine(
    selection: Chosen,
    *,
    rate: float | None = None,
    actor: str,
    reason: str,
    background: bool = False,
    progress: Progress | None = None,
) -> BulkResult:
    """Set open jobs aside: they do not run until replayed. A running one is skipped and says so."""
    return _bulk("quarantine", selection, rate, actor, reason, background, progress)


def replay(
    selection: Chosen,
    *,
    rate: float | None = None,
    actor: str,
    reason: str,
    background: bool = False,
    progress: Progress | None = None,
) -> BulkResult:
    """Run quarantined jobs again under new ids, oldest first."""
    return _bulk("replay", selection, rate, actor, reason, background, progress)


def discard(
    selection: Chosen,
    *,
    rate: float | None = None,
    actor: str,
    reason: str,
    background: bool = False,
    progress: Progress | None = None,
) -> BulkResult:
    """Delete jobs that are not running for good. SQL keeps the copy of quarantined ones."""
    return _bulk("discard", selection, rate, actor, reason, background, progress)


def requeue(
    selection: Chosen,
    *,
    rate: float | None = None,
    actor: str,
    reason: str,
    background: bool = False,
    progress: Progress | None = None,
) -> BulkResult:
    """Run failed jobs again under their own ids. A quarantined one is skipped: replay it."""
    return _bulk("requeue", selection, rate, actor, reason, background, progress)


def run_now(
    selection: Chosen,
    *,
    rate: float | None = None,
    actor: str,
    reason: str,
    background: bool = False,
    progress: Progress | None = None,
) -> BulkResult:
    """Put scheduled, retrying or repeating jobs on their queues at once. A parked one is skipped: its control decides.

    For an entry of RQ's cron see :func:`queueops.operations.cron.run_cron`.
    """
    return _bulk("run_now", selection, rate, actor, reason, background, progress)


def _bulk(
    verb: str,
    selection: Chosen,
    rate: float | None,
    actor: str,
    reason: str,
    background: bool,
    progress: Progress | None,
) -> BulkResult:
    batch = batches.start(verb, Selection.of(selection), rate=rate, actor=actor, reason=reason)
    return batches.result(batch) if background else batches.run(batch, progress)
