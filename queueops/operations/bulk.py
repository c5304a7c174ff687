"""quarantine, replay, discard, requeue: the verbs over jobs."""

from __future__ import annotations

from collections.abc import Iterable

from queueops.operations import batches
from queueops.operations.batches import BulkResult, Progress
from queueops.operations.selection import Selection

Chosen = Selection | str | Iterable[str]


def quarantine(
    job_ids: str | Iterable[str], *, actor: str, reason: str, progress: Progress | None = None
) -> BulkResult:
    """Set open jobs aside: they do not run until replayed. A running one is skipped and says so."""
    return _bulk("quarantine", job_ids, None, actor, reason, False, progress)


def replay(
    selection: Chosen,
    *,
    rate: float | None = None,
    actor: str,
    reason: str,
    background: bool = False,
    progress: Progress | None = None,
) -> BulkResult:
    """Run quarantined jobs again under new ids, oldest first, at most ``rate`` per second.

    ``background``: return at once, the monitor does the work; ask :func:`batches.result` how far it is.
    """
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


def requeue(job_ids: str | Iterable[str], *, actor: str, reason: str, progress: Progress | None = None) -> BulkResult:
    """Run failed jobs again under their own ids. A quarantined one is skipped: replay it."""
    return _bulk("requeue", job_ids, None, actor, reason, False, progress)


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
