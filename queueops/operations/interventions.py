"""The one way to make a change: every verb runs inside :func:`intervene`, which leaves the audit row."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from queueops.models import Intervention
from queueops.operations.text import checked_actor, checked_reason, cleaned

logger = logging.getLogger("queueops.operations")


@dataclass(slots=True)
class Record:
    """What the verb fills in while it works."""

    row: Intervention
    after: dict[str, Any] = field(default_factory=dict)
    lasts: bool = False
    """True when the change stays in force until it is lifted."""
    pending: bool = False
    """True when somebody else will close the row (a batch in the background)."""

    def before(self, **facts: Any) -> None:
        """What was so before the change; stored at once, so that a crash keeps it."""
        self.row.before = {**self.row.before, **facts}
        self.row.save(update_fields=["before"])

    def leave(self, **facts: Any) -> None:
        """What is so by now; the rest is left to ``recover``, which closes the row."""
        self.row.after = {**self.after, **facts}
        self.row.save(update_fields=["after"])
        self.pending = True

    def ends(self, moment: datetime | None) -> None:
        """When the change ends by itself."""
        self.row.ends = moment
        self.row.save(update_fields=["ends"])


@contextmanager
def intervene(verb: str, target: str, *, actor: str, reason: str) -> Iterator[Record]:
    """Records who, when, what, why; then before and after. An error marks the row failed and goes on up.

    The row is committed as ``applying`` before the body runs, so a process killed inside leaves a trace that
    ``recover`` finishes.
    """
    row = Intervention.objects.create(
        at=timezone.now(),
        actor=checked_actor(actor),
        verb=verb,
        target=cleaned(target, 600),
        reason=checked_reason(reason),
    )
    record = Record(row)
    try:
        yield record
    except BaseException as error:
        _failed(row, error)
        raise
    if record.pending:
        return
    row.after = record.after
    row.state = Intervention.State.IN_FORCE if record.lasts else Intervention.State.DONE
    row.save(update_fields=["after", "state"])


def _failed(row: Intervention, error: BaseException) -> None:
    """Recording a failure cannot fail: the error that is on its way matters more."""
    try:
        fail(row.pk, str(error) or type(error).__name__)
    except Exception:
        logger.exception("could not mark intervention %s as failed", row.pk)


def fail(pk: int, error: str) -> None:
    """Mark an intervention failed with its error."""
    Intervention.objects.filter(pk=pk).update(state=Intervention.State.FAILED, error=cleaned(error, 2000))


def end(pk: int | None, by: str) -> None:
    """An intervention that was in force is over: it was lifted, replaced, or its time came."""
    Intervention.objects.filter(pk=pk, state__in=(Intervention.State.APPLYING, Intervention.State.IN_FORCE)).update(
        state=Intervention.State.DONE, ended_at=timezone.now(), ended_by=cleaned(by, 150)
    )
