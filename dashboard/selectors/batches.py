"""Bulk work that goes on, and what has just ended: how far it is, and that it adds up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from queueops.models import Batch

MOST = 6
LINGER = timedelta(minutes=2)
"""How long a finished one stays on the pages."""
REASONS = 4


@dataclass(frozen=True, slots=True)
class Work:
    """``done + skipped + gone + left = total``; while ``collecting`` the total is not known yet."""

    id: str
    verb: str
    target: str
    actor: str
    reason: str
    state: str
    collecting: bool
    looked: int
    total: int
    done: int
    skipped: int
    gone: int
    rate: float | None
    reasons: tuple[tuple[str, int], ...]
    ended_by: str
    at: int
    """When it was begun (µs)."""

    @property
    def left(self) -> int:
        return max(0, self.total - self.done - self.skipped - self.gone)

    @property
    def ended(self) -> int:
        return self.total - self.left

    @property
    def seconds(self) -> float | None:
        """How long the rest takes at its pace; None without one."""
        return self.left / self.rate if self.rate and not self.collecting else None


def current() -> tuple[Work, ...]:
    """Running batches, newest first, then those that ended lately. One SQL query."""
    found = Batch.objects.filter(
        Q(state=Batch.State.RUNNING) | Q(finished__gt=timezone.now() - LINGER, total__gt=50)
    ).select_related("intervention")
    return tuple(_work(batch) for batch in found.order_by("-state", "-created")[:MOST])


def _work(batch: Batch) -> Work:
    collect = batch.selection.get("collect") or {} if isinstance(batch.selection, dict) else {}
    reasons = sorted(batch.reasons.items(), key=lambda pair: -pair[1]) if isinstance(batch.reasons, dict) else []
    return Work(
        id=batch.pk,
        verb=batch.verb,
        target=batch.intervention.target,
        actor=batch.intervention.actor,
        reason=batch.intervention.reason,
        state=batch.state,
        collecting=bool(collect.get("servers")) and batch.state == Batch.State.RUNNING,
        looked=int(collect.get("looked") or 0),
        total=batch.total,
        done=batch.done,
        skipped=batch.skipped,
        gone=batch.gone,
        rate=batch.rate,
        reasons=tuple(reasons[:REASONS]),
        ended_by=batch.intervention.ended_by,
        at=int(batch.created.timestamp() * 1e6),
    )
