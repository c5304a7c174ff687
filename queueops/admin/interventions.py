"""Who did what, when and why; and the bulk work behind it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from queueops.admin.base import ReadMostlyAdmin
from queueops.models import Batch, Intervention
from queueops.operations import batches


@admin.register(Intervention)
class InterventionAdmin(ReadMostlyAdmin):
    list_display = ("id", "at", "actor", "verb", "target", "reason", "state", "ends", "ended_by")
    list_filter = ("state", "verb", "at")
    search_fields = ("target", "reason", "actor")
    ordering = ("-at", "-id")


@admin.register(Batch)
class BatchAdmin(ReadMostlyAdmin):
    list_display = ("id", "verb", "target", "state", "total", "done", "skipped", "gone", "rate", "created", "finished")
    list_filter = ("state", "verb")
    list_select_related = ("intervention",)
    ordering = ("-created", "id")
    actions = ("stop",)
    exclude = ("owner", "owned_until", "next_at")

    @admin.display(description=gettext_lazy("target"))
    def target(self, batch: Batch) -> str:
        return batch.intervention.target

    @admin.action(description=gettext_lazy("Stop the selected"), permissions=["replay"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Leave the rest undone."""
        rows = queryset.filter(state=Batch.State.RUNNING)

        def change(actor: str, reason: str) -> str:
            stopped = [batches.stop(pk, by=actor, reason=reason) for pk in rows.values_list("pk", flat=True)]
            return ngettext("%d was stopped.", "%d were stopped.", len(stopped)) % len(stopped)

        question = _("What is done stays done; the rest is left as it is.")
        return self.confirm(request, rows, "stop", _("Stop"), question, change)
