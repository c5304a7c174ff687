"""Quarantined jobs, by their SQL copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from queueops.admin.base import ReadMostlyAdmin, ReasonForm
from queueops.models import QuarantinedJob
from queueops.operations import BulkResult, discard, replay

DIRECT = 100
"""Up to so many jobs are done before the page answers; more are left to the monitor."""
MOST = 10_000


class PaceForm(ReasonForm):
    """Why, and how fast."""

    rate = forms.FloatField(
        label=gettext_lazy("Jobs per second"), required=False, min_value=0.01, max_value=1000,
        help_text=gettext_lazy("Without a number: as fast as it goes."),
    )  # fmt: skip


@admin.register(QuarantinedJob)
class QuarantinedJobAdmin(ReadMostlyAdmin):
    """The payload is not shown: it holds arguments, and nothing here decodes it."""

    list_display = (
        "job_id", "queue", "function", "reason", "attempts", "crashes", "replays", "quarantined_at", "state",
    )  # fmt: skip
    list_filter = ("state", "queue")
    search_fields = ("job_id", "function", "reason", "fingerprint")
    ordering = ("-quarantined_at", "-id")
    exclude = ("payload",)
    actions = ("replay_selected", "discard_selected")

    def get_queryset(self, request: HttpRequest) -> QuerySet[QuarantinedJob]:
        return super().get_queryset(request).defer("payload", "error", "description")

    @admin.action(description=gettext_lazy("Replay the selected"), permissions=["replay"])
    def replay_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Run them again under new ids."""
        question = _("They run again under new ids, oldest first.")
        return self._bulk(request, queryset, "replay_selected", _("Replay"), question, replay)

    @admin.action(description=gettext_lazy("Discard the selected"), permissions=["replay"])
    def discard_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Delete them from Redis; the copies stay."""
        question = _("They are deleted from Redis for good; the copies here stay.")
        return self._bulk(request, queryset, "discard_selected", _("Discard"), question, discard)

    def _bulk(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        action: str,
        title: str,
        question: str,
        verb: Callable[..., BulkResult],
    ) -> HttpResponse | None:
        rows = queryset.filter(state=QuarantinedJob.State.QUARANTINED).order_by("quarantined_at", "id")

        def change(actor: str, reason: str, rate: float | None) -> str:
            ids = list(rows.values_list("job_id", flat=True)[:MOST])
            if not ids:
                return _("None of the selected is quarantined any more.")
            result = verb(ids, actor=actor, reason=reason, rate=rate, background=len(ids) > (rate or DIRECT))
            if result.left:
                return _("%(n)d jobs are being worked on; see batch %(batch)s.") % {
                    "n": result.total,
                    "batch": result.batch.pk,
                }
            counts = {"done": result.done, "skipped": result.skipped, "gone": result.gone, "total": result.total}
            return _("%(done)d of %(total)d done, %(skipped)d skipped, %(gone)d gone.") % counts

        count = rows.count()
        head = ngettext("%d of the selected is quarantined.", "%d of the selected are quarantined.", count) % count
        return self.confirm(request, rows, action, title, f"{head} {question}", change, PaceForm)
