"""What was done while a chart's time passed: releases, deploys, settings, interventions. One query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Q

from queueops.models import Intervention

MOST = 100
"""Marks of one chart; the newest are kept."""
QUIET = ("run_now", "requeue", "stop_job")
"""Verbs about single jobs: too many for a chart, and they change no pace."""


@dataclass(frozen=True, slots=True)
class Mark:
    """``at`` in epoch seconds. ``pk`` is that of the intervention."""

    at: float
    verb: str
    target: str
    actor: str
    reason: str
    pk: int


def marks(queue: str | None, since: int, until: int, *, function: str | None = None) -> tuple[Mark, ...]:
    """Oldest first. Of one queue: what names it, or what is about all or about functions and controls."""
    rows = Intervention.objects.filter(
        at__gte=datetime.fromtimestamp(since, UTC), at__lt=datetime.fromtimestamp(until, UTC)
    ).exclude(verb__in=QUIET)
    if queue is not None:
        rows = rows.filter(~Q(target__startswith="queue ") | Q(target=f"queue {queue}"))
    if function is not None:
        rows = rows.filter(~Q(target__startswith="function ") | Q(target=f"function {function}"))
    found = rows.order_by("-at", "-id").values_list("at", "verb", "target", "actor", "reason", "pk")[:MOST]
    return tuple(Mark(row[0].timestamp(), *row[1:]) for row in reversed(found))
