"""Forms that add a setting: each calls its verb, which writes the row, tells Redis and leaves an intervention."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from redis.exceptions import RedisError

from queueops.admin.base import ReadMostlyAdmin, ReasonForm
from queueops.models import Isolation, Pause
from queueops.operations import Change, OperationError, isolate, limit, pause, told

LONGEST = 30 * 24 * 60
"""Minutes that a setting may last; without an end it lasts until it is lifted."""


class AddForm(ReasonForm):
    """What all settings have: for how long, and why."""

    minutes = forms.IntegerField(
        label=gettext_lazy("Minutes"), required=False, min_value=1, max_value=LONGEST,
        help_text=gettext_lazy("It ends by itself then; without a number it lasts until somebody lifts it."),
    )  # fmt: skip
    field_order: tuple[str, ...] = ("kind", "name", "limit", "minutes", "reason")

    def set(self, **who: Any) -> Change:
        """Carry it out; ``who`` is actor, reason and seconds."""
        raise NotImplementedError


class PauseForm(AddForm):
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=Pause.Kind.choices)
    name = forms.CharField(
        label=gettext_lazy("Name"), required=False, max_length=500, strip=False,
        help_text=gettext_lazy("The queue, or the function with its module; nothing for everything."),
    )  # fmt: skip

    def set(self, **who: Any) -> Change:
        return pause(self.cleaned_data["kind"], self.cleaned_data["name"], **who)


class IsolationForm(AddForm):
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=Isolation.Kind.choices)
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=500,
        help_text=gettext_lazy("The function with its module, the fingerprint of the error, or CONTROL=KEY."),
    )  # fmt: skip

    def set(self, **who: Any) -> Change:
        return isolate(self.cleaned_data["kind"], self.cleaned_data["name"], **who)


class OverrideForm(AddForm):
    name = forms.CharField(label=gettext_lazy("Control"), max_length=500)
    limit = forms.IntegerField(
        label=gettext_lazy("Limit"), min_value=0, max_value=1_000_000, help_text=gettext_lazy("0 means stop.")
    )

    def set(self, **who: Any) -> Change:
        return limit(self.cleaned_data["name"], self.cleaned_data["limit"], **who)


class AddsByVerb(ReadMostlyAdmin):
    """A model whose rows are added by ``add_form``, never by saving them."""

    add_form: type[AddForm]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_operate_permission(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form; then back to the list with what was done."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = self.add_form(request.POST if request.method == "POST" else None)
        if form.is_valid() and self._set(request, form):
            return HttpResponseRedirect(reverse(f"admin:queueops_{self.opts.model_name}_changelist"))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Add %s") % self.opts.verbose_name,
            "form": form,
            "opts": self.opts,
        }
        return TemplateResponse(request, "queueops_admin/add.html", context)

    def _set(self, request: HttpRequest, form: AddForm) -> bool:
        minutes = form.cleaned_data["minutes"]
        try:
            done = form.set(
                actor=request.user.get_username(),
                reason=form.cleaned_data["reason"],
                seconds=minutes * 60.0 if minutes else None,
            )
        except OperationError as error:
            form.add_error(None, str(error))
            return False
        except RedisError as error:
            form.add_error(None, _("Redis does not answer: %s") % told(error))
            return False
        self.message_user(request, _("%s is in force.") % done.setting, messages.SUCCESS)
        if done.behind:
            text = _("Not yet on the server of %(entries)s, which does not answer: the monitor sees to it.")
            self.message_user(request, text % {"entries": ", ".join(done.behind)}, messages.WARNING)
        return True
