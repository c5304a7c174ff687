"""What a bulk verb does to one job: one script call, and the SQL copy told. Repeating a step is harmless."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from queueops.models import QuarantinedJob
from queueops.operations import copies
from queueops.operations.protocol import run
from queueops.rdb.client import Server

NAMESPACE = uuid.UUID("5a0e4a52-5d4e-4b8a-9c35-0e9a9d1c7f10")

Step = Callable[[Server, str, str, str, str], tuple[str, str]]


def _answer(raw: list[Any]) -> tuple[str, str]:
    outcome, detail = (part.decode("utf-8", "replace") for part in raw[:2])
    return outcome, detail


def _iso() -> str:
    """Now, as RQ writes it into a job; shown, never decided by."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_id(batch: str, job_id: str) -> str:
    """The id of a replay: the same for the same batch and job, so that a repeated step finds what it did."""
    return str(uuid.uuid5(NAMESPACE, f"{batch}:{job_id}"))


def _copy(server: Server, job_id: str) -> QuarantinedJob | None:
    return QuarantinedJob.objects.filter(server=server.alias, job_id=job_id).first()


def replay(server: Server, job_id: str, batch: str, by: str, why: str) -> tuple[str, str]:
    """Run it again under a new id; from the SQL copy if Redis lost it."""
    new = new_id(batch, job_id)
    outcome, detail = _answer(run(server, "replay", job_id, new, by, why, _iso(), ""))
    if outcome == "gone":
        row = _copy(server, job_id)
        fields = copies.unpack(row.payload) if row and row.state == QuarantinedJob.State.QUARANTINED else {}
        if row and fields.get("data"):
            flat = [part for pair in fields.items() for part in pair]
            outcome, detail = _answer(run(server, "replay", job_id, new, by, why, _iso(), row.queue, *flat))
        elif row and row.replayed_as:
            outcome, detail = "skipped", f"already replayed as {row.replayed_as}"
    if outcome == "done":
        _mark(server, job_id, QuarantinedJob.State.REPLAYED, replayed_as=detail)
    return outcome, detail


def discard(server: Server, job_id: str, batch: str, by: str, why: str) -> tuple[str, str]:
    """Delete it for good; the copy that SQL keeps of a quarantined job is made first."""
    copies.sync_one(server, job_id)
    outcome, detail = _answer(run(server, "discard", job_id, by, why, ""))
    if outcome == "done":
        _mark(server, job_id, QuarantinedJob.State.DISCARDED)
    elif outcome == "gone" and _mark(server, job_id, QuarantinedJob.State.DISCARDED):
        # Redis lost it, the copy is all there is: discarding means not to offer it for replay any more
        return "done", "only its copy was left"
    return outcome, detail


def quarantine(server: Server, job_id: str, batch: str, by: str, why: str) -> tuple[str, str]:
    """Set an open job aside."""
    return _answer(run(server, "quarantine", job_id, by, why, batch))


def requeue(server: Server, job_id: str, batch: str, by: str, why: str) -> tuple[str, str]:
    """Run a failed job again under its own id."""
    return _answer(run(server, "requeue", job_id, by, why, _iso(), batch))


def run_now(server: Server, job_id: str, batch: str, by: str, why: str) -> tuple[str, str]:
    """Put a scheduled job on its queue."""
    return _answer(run(server, "run_now", job_id, by, why, _iso(), batch))


def _mark(server: Server, job_id: str, state: Any, replayed_as: str = "") -> int:
    rows = QuarantinedJob.objects.filter(
        server=server.alias,
        job_id=job_id,
        state__in=(QuarantinedJob.State.QUARANTINED, QuarantinedJob.State.LEFT),
    )
    return rows.update(state=state, replayed_as=replayed_as)


STEPS: dict[str, Step] = {
    "replay": replay,
    "discard": discard,
    "quarantine": quarantine,
    "requeue": requeue,
    "run_now": run_now,
}

FITS: dict[str, tuple[str, ...]] = {
    "replay": ("quarantined",),
    "requeue": ("failed",),
    "run_now": ("scheduled", "retries", "repeats"),
    "quarantine": ("queued", "parked", "scheduled", "retries", "repeats", "deferred"),
    "discard": ("queued", "parked", "scheduled", "retries", "repeats", "deferred", "failed", "quarantined"),
}
"""Which lists a verb may be used on as a whole."""
