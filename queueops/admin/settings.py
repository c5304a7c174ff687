"""Pauses, isolations, overrides: what is and was in force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from queueops.admin.adding import AddsByVerb, IsolationForm, OverrideForm, PauseForm
from queueops.models import Isolation, Override, Pause
from queueops.operations import OperationError, limit, resume, unisolate


class SettingAdmin(AddsByVerb):
    """Shared: the list with who, why and until, and the action that lifts."""

    list_filter: tuple[str, ...] = ("state",)
    search_fields = ("name", "reason", "actor")
    ordering = ("-created", "id")
    actions = ("lift",)
    exclude = ("slot",)

    @admin.action(description=gettext_lazy("Lift the selected"), permissions=["operate"])
    def lift(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Lift what is in force among the selected rows."""
        rows = queryset.filter(slot__isnull=False)

        def change(actor: str, reason: str) -> str:
            done, refused = 0, []
            for row in rows:
                try:
                    self.lift_one(row)(actor=actor, reason=reason)
                    done += 1
                except OperationError as error:
                    refused.append(str(error))
            text = ngettext("%d was lifted.", "%d were lifted.", done) % done
            return " ".join([text, *refused])

        count = rows.count()
        question = ngettext("%d of the selected is in force.", "%d of the selected are in force.", count) % count
        return self.confirm(request, rows, "lift", _("Lift"), question, change)

    def lift_one(self, row: Any) -> Callable[..., Any]:
        """The verb that lifts this row."""
        raise NotImplementedError


@admin.register(Pause)
class PauseAdmin(SettingAdmin):
    add_form = PauseForm
    list_display = ("__str__", "state", "actor", "reason", "created", "until", "lifted_at", "lifted_by")
    list_filter = ("state", "kind")

    def lift_one(self, row: Pause) -> Callable[..., Any]:
        return lambda **who: resume(row.kind, row.name, **who)


@admin.register(Isolation)
class IsolationAdmin(SettingAdmin):
    add_form = IsolationForm
    list_display = ("__str__", "state", "actor", "reason", "created", "until", "lifted_at", "lifted_by")
    list_filter = ("state", "kind")

    def lift_one(self, row: Isolation) -> Callable[..., Any]:
        return lambda **who: unisolate(row.kind, row.text or row.name, **who)


@admin.register(Override)
class OverrideAdmin(SettingAdmin):
    add_form = OverrideForm
    list_display = ("name", "limit", "state", "actor", "reason", "created", "until", "lifted_at", "lifted_by")

    def lift_one(self, row: Override) -> Callable[..., Any]:
        return lambda **who: limit(row.name, None, **who)
