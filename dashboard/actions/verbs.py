"""The changes a page can make; each checks its permission first, and each is one verb of ``queueops.operations``."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from dashboard.access import View, action
from dashboard.actions import forms
from queueops import operations


@action("pause")
def pause(request: HttpRequest) -> HttpResponse:
    """``kind`` queue, function or all; ``name``; ``reason``; optional ``for``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), request.POST.get("name", "")
        done = operations.pause(
            kind, name, actor=forms.actor(request), reason=forms.reason(request), seconds=forms.seconds(request)
        )
        forms.everywhere(request, done)
        return _("Paused %(what)s. What runs now finishes; nothing new starts.") % {"what": _target(kind, name)}

    return forms.carry_out(request, work)


@action("resume")
def resume(request: HttpRequest) -> HttpResponse:
    """``kind``, ``name``, ``reason``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), request.POST.get("name", "")
        done = operations.resume(kind, name, actor=forms.actor(request), reason=forms.reason(request))
        forms.everywhere(request, done)
        return _("Resumed %(what)s.") % {"what": _target(kind, name)}

    return forms.carry_out(request, work)


@action("isolate")
def isolate(request: HttpRequest) -> HttpResponse:
    """``kind`` function, error or key; ``name``; ``reason``; optional ``for``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), forms.text(request, "name")
        done = operations.isolate(
            kind, name, actor=forms.actor(request), reason=forms.reason(request), seconds=forms.seconds(request)
        )
        forms.everywhere(request, done)
        return _("Isolated %(name)s: its jobs go to quarantine instead of running.") % {"name": wording.named(name)}

    return forms.carry_out(request, work)


@action("unisolate")
def unisolate(request: HttpRequest) -> HttpResponse:
    """``kind``, ``name``, ``reason``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), forms.text(request, "name")
        done = operations.unisolate(kind, name, actor=forms.actor(request), reason=forms.reason(request))
        forms.everywhere(request, done)
        return _("%(name)s runs again.") % {"name": wording.named(name)}

    return forms.carry_out(request, work)


@action("limit")
def limit(request: HttpRequest) -> HttpResponse:
    """``control`` (its id), ``limit`` (empty with ``revert``), ``reason``, optional ``for``."""

    def work() -> str:
        control = forms.text(request, "control")
        number = None if request.POST.get("revert") else forms.whole(request, "limit")
        done = operations.limit(
            control, number, actor=forms.actor(request), reason=forms.reason(request),
            seconds=None if number is None else forms.seconds(request),
        )  # fmt: skip
        forms.everywhere(request, done)
        name = wording.named(control[2:])
        if number is None:
            return _("%(name)s has its declared limit again.") % {"name": name}
        return _("%(name)s is limited to %(n)s.") % {"name": name, "n": number}

    return forms.carry_out(request, work)


@action("release")
def release(request: HttpRequest) -> HttpResponse:
    """``control``, ``key`` as text, ``token`` or ``all``, ``reason``."""

    def work() -> str:
        token = request.POST.get("token") or None
        done = operations.release(
            forms.text(request, "control"), request.POST.get("key", ""), token=token, all=bool(request.POST.get("all")),
            actor=forms.actor(request), reason=forms.reason(request),
        )  # fmt: skip
        count = len(done.holders)
        return ngettext("Released %(n)s holder.", "Released %(n)s holders.", count) % {"n": count}

    return forms.carry_out(request, work)


def _target(kind: str, name: str) -> str:
    return _("everything") if kind == "all" else wording.named(name)


VIEWS: dict[str, View] = {
    "pause": pause,
    "resume": resume,
    "isolate": isolate,
    "unisolate": unisolate,
    "limit": limit,
    "release": release,
}
