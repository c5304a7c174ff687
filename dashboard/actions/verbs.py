"""The changes a page can make; each checks its permission first, and each is one verb of ``queueops.operations``."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from dashboard.access import View, action
from dashboard.actions import forms
from dashboard.selectors import quarantine as kept
from queueops import operations
from queueops.operations import BulkResult, Selection

AT_ONCE = 50
"""Jobs up to this number are done while the browser waits; more run in the background."""


@action("pause")
def pause(request: HttpRequest) -> HttpResponse:
    """``kind`` queue, function or all; ``name``; ``reason``; optional ``for``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), request.POST.get("name", "")
        operations.pause(
            kind, name, actor=forms.actor(request), reason=forms.reason(request), seconds=forms.seconds(request)
        )
        return _("Paused %(what)s. What runs now finishes; nothing new starts.") % {"what": _target(kind, name)}

    return forms.carry_out(request, work)


@action("resume")
def resume(request: HttpRequest) -> HttpResponse:
    """``kind``, ``name``, ``reason``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), request.POST.get("name", "")
        operations.resume(kind, name, actor=forms.actor(request), reason=forms.reason(request))
        return _("Resumed %(what)s.") % {"what": _target(kind, name)}

    return forms.carry_out(request, work)


@action("isolate")
def isolate(request: HttpRequest) -> HttpResponse:
    """``kind`` function, error or key; ``name``; ``reason``; optional ``for``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), forms.text(request, "name")
        operations.isolate(
            kind, name, actor=forms.actor(request), reason=forms.reason(request), seconds=forms.seconds(request)
        )
        return _("Isolated %(name)s: its jobs go to quarantine instead of running.") % {"name": wording.named(name)}

    return forms.carry_out(request, work)


@action("unisolate")
def unisolate(request: HttpRequest) -> HttpResponse:
    """``kind``, ``name``, ``reason``."""

    def work() -> str:
        kind, name = forms.text(request, "kind"), forms.text(request, "name")
        operations.unisolate(kind, name, actor=forms.actor(request), reason=forms.reason(request))
        return _("%(name)s runs again.") % {"name": wording.named(name)}

    return forms.carry_out(request, work)


@action("limit")
def limit(request: HttpRequest) -> HttpResponse:
    """``control`` (its id), ``limit`` (empty with ``revert``), ``reason``, optional ``for``."""

    def work() -> str:
        control = forms.text(request, "control")
        number = None if request.POST.get("revert") else forms.whole(request, "limit")
        operations.limit(
            control, number, actor=forms.actor(request), reason=forms.reason(request),
            seconds=None if number is None else forms.seconds(request),
        )  # fmt: skip
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


def _selection(request: HttpRequest) -> Selection:
    """The ticked jobs, or all that match the filter of the address."""
    if not request.POST.get("all"):
        ids = tuple(dict.fromkeys(request.POST.getlist("job")))
        if not ids:
            raise forms.Wrong(_("No job is selected."))
        return Selection(job_ids=ids)
    fields = ("reason", "queue", "function")
    # not the bare names: "reason" is why the operator does it
    wanted = kept.Filter(**{n: request.POST[f"filter_{n}"] for n in fields if f"filter_{n}" in request.POST})
    found = kept.ids(wanted, most=10_000)
    if found is not None:
        if not found:
            raise forms.Wrong(_("Nothing matches this filter any more."))
        return Selection(job_ids=found)
    if wanted.reason is not None or "" in wanted.as_dict().values():
        raise forms.Wrong(_("More than 10,000 jobs match: filter by queue or function, not by reason."))
    names = wanted.as_dict()
    return Selection(queue=names.get("queue", ""), function=names.get("function", ""), everything=not names)


def _rate(request: HttpRequest) -> float | None:
    """Jobs per second; empty means as fast as it goes."""
    text_ = request.POST.get("rate", "").strip()
    try:
        value = float(text_) if text_ else None
    except ValueError:
        raise forms.Wrong(_("The pace is a number of jobs per second.")) from None
    if value is not None and not 0 < value <= 1000:
        raise forms.Wrong(_("The pace is a number of jobs per second."))
    return value


def _told(result: BulkResult, done: str) -> str:
    """What a bulk verb did, adding up."""
    parts = [f"{done}: {result.done:,}"]
    if result.left:
        parts.append(_("%(n)s follow in the background") % {"n": f"{result.left:,}"})
    if result.skipped:
        why = "; ".join(f"{n:,} {reason}" for reason, n in list(result.reasons.items())[:3])
        parts.append(_("%(n)s skipped (%(why)s)") % {"n": f"{result.skipped:,}", "why": why})
    if result.gone:
        parts.append(_("%(n)s no longer there") % {"n": f"{result.gone:,}"})
    return ", ".join(parts) + "."


def _many(chosen: Selection, rate: float | None) -> bool:
    return chosen.by_filter or len(chosen.job_ids) > AT_ONCE or (rate is not None and len(chosen.job_ids) > rate)


@action("replay")
def replay(request: HttpRequest) -> HttpResponse:
    """``job`` ids or ``all`` with the filter, ``reason``, optional ``rate``."""

    def work() -> str:
        chosen, rate = _selection(request), _rate(request)
        result = operations.replay(
            chosen, rate=rate, actor=forms.actor(request), reason=forms.reason(request), background=_many(chosen, rate)
        )
        return _told(result, _("Replayed"))

    return forms.carry_out(request, work)


@action("discard")
def discard(request: HttpRequest) -> HttpResponse:
    """``job`` ids or ``all`` with the filter, ``reason``."""

    def work() -> str:
        chosen = _selection(request)
        result = operations.discard(
            chosen, actor=forms.actor(request), reason=forms.reason(request), background=_many(chosen, None)
        )
        return _told(result, _("Discarded"))

    return forms.carry_out(request, work)


@action("quarantine")
def quarantine(request: HttpRequest) -> HttpResponse:
    """``job`` ids, ``reason``."""

    def work() -> str:
        ids = _selection(request).job_ids
        result = operations.quarantine(ids, actor=forms.actor(request), reason=forms.reason(request))
        return _told(result, _("Quarantined"))

    return forms.carry_out(request, work)


@action("requeue")
def requeue(request: HttpRequest) -> HttpResponse:
    """``job`` ids, ``reason``."""

    def work() -> str:
        ids = _selection(request).job_ids
        result = operations.requeue(ids, actor=forms.actor(request), reason=forms.reason(request))
        return _told(result, _("Requeued"))

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
    "quarantine": quarantine,
    "replay": replay,
    "discard": discard,
    "requeue": requeue,
}
