"""A page that can be read with ``view_dashboard``, and actions that ask for a reason first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from redis.exceptions import RedisError

from queueops.operations import OperationError, told

SHOWN = 20
"""Rows named on the page that asks for the reason."""


class ReasonForm(forms.Form):
    """Why."""

    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=2000, widget=forms.TextInput(attrs={"size": 80}))


class ReadMostlyAdmin(admin.ModelAdmin):
    """Nothing is added, changed or deleted here; the actions call the verbs with the user as actor."""

    list_per_page = 100
    show_full_result_count = False
    ordering: tuple[str, ...] = ()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("queueops.view_dashboard"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """For ``@admin.action(permissions=["operate"])``."""
        return bool(request.user.has_perm("queueops.operate"))

    def has_replay_permission(self, request: HttpRequest) -> bool:
        """For ``@admin.action(permissions=["replay"])``."""
        return bool(request.user.has_perm("queueops.replay"))

    def confirm(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        action: str,
        title: str,
        question: str,
        change: Callable[..., str],
        form_class: type[ReasonForm] = ReasonForm,
    ) -> HttpResponse | None:
        """Ask for a reason; then ``change(actor, reason, …)``, whose answer is shown. None goes back to the list."""
        form = form_class(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            try:
                said = change(actor=request.user.get_username(), **form.cleaned_data)
            except OperationError as error:
                self.message_user(request, str(error), messages.ERROR)
            except RedisError as error:
                self.message_user(request, _("Redis does not answer: %s") % told(error), messages.ERROR)
            else:
                self.message_user(request, said, messages.SUCCESS)
            return None
        rows = list(queryset[:SHOWN])
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "question": question,
            "rows": rows,
            "more": queryset.count() - len(rows),
            "form": form,
            "selected": request.POST.getlist("_selected_action"),
            "across": request.POST.get("select_across") == "1",
            "action": action,
            "opts": self.model._meta,
        }
        return TemplateResponse(request, "queueops_admin/confirm.html", context)
