"""The changes to many jobs: replay, requeue, run now, quarantine, discard; and stopping one of them half way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard import wording
from dashboard.access import View, action
from dashboard.actions import forms
from dashboard.selectors import quarantine as kept
from queueops import operations
from queueops.models import Batch
from queueops.operations import BulkResult, Selection, batches
from queueops.telemetry.job_pages import JobFilter

AT_ONCE = 50
"""Jobs up to this number are done while the browser waits; more run in the background."""
TEXTS = ("function", "error", "text", "tag", "any")
AGES = ("older", "younger")


def _selection(request: HttpRequest) -> Selection:
    """The ticked jobs, or all that match the filter of the address."""
    if not request.POST.get("all"):
        ids = tuple(dict.fromkeys(request.POST.getlist("job")))
        if not ids:
            raise forms.Wrong(_("No job is selected."))
        return Selection(job_ids=ids)
    if "filter_state" in request.POST:
        return Selection(where=_listed(request))
    # not the bare names: "reason" is why the operator does it
    wanted = kept.Filter(**{n: request.POST[f"filter_{n}"] for n in kept.FIELDS if f"filter_{n}" in request.POST})
    found = kept.ids(wanted, most=10_000)
    if found is not None:
        if not found:
            raise forms.Wrong(_("Nothing matches this filter any more."))
        return Selection(job_ids=found)
    names = wanted.as_dict()
    if set(names) - {"queue", "function"} or "" in names.values():
        raise forms.Wrong(_("More than 10,000 jobs match: filter by queue or function alone."))
    return Selection(queue=names.get("queue", ""), function=names.get("function", ""), everything=not names)


def _listed(request: HttpRequest) -> JobFilter:
    """The filter of a list of jobs, as its page sent it along."""
    given = {name: request.POST[f"filter_{name}"] for name in TEXTS if f"filter_{name}" in request.POST}
    ages: dict[str, Any] = {}
    for name in AGES:
        try:
            ages[name] = float(request.POST.get(f"filter_{name}", "0"))
        except ValueError:
            raise forms.Wrong(_("The form is incomplete: %(name)s is missing.") % {"name": name}) from None
    return JobFilter(request.POST["filter_state"], request.POST.get("filter_queue"), **given, **ages)


def _rate(request: HttpRequest) -> float | None:
    """Jobs per second; empty means as fast as it goes."""
    text = request.POST.get("rate", "").strip()
    try:
        value = float(text) if text else None
    except ValueError:
        raise forms.Wrong(_("The pace is a number of jobs per second.")) from None
    if value is not None and not 0 < value <= 1000:
        raise forms.Wrong(_("The pace is a number of jobs per second."))
    return value


def _told(result: BulkResult, done: str) -> str:
    """What a bulk verb did, adding up."""
    if result.batch.selection.get("collect") and not result.total:
        return _("%(what)s: goes on in the background; how far it is stands above the list.") % {"what": done}
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


def _bulk(name: str, verb: Callable[..., BulkResult], done: Any) -> View:
    @action(name)
    def view(request: HttpRequest) -> HttpResponse:
        """``job`` ids or ``all`` with the filter, ``reason``, optional ``rate``."""

        def work() -> str:
            chosen, rate = _selection(request), _rate(request)
            result = verb(
                chosen, rate=rate, actor=forms.actor(request), reason=forms.reason(request),
                background=_many(chosen, rate),
            )  # fmt: skip
            return _told(result, str(done))

        return forms.carry_out(request, work)

    return view


@action("run_cron")
def run_cron(request: HttpRequest) -> HttpResponse:
    """``cron`` (name of the entry), ``queue``, ``reason``."""

    def work() -> str:
        name = forms.text(request, "cron")
        job = operations.run_cron(
            name, queue=request.POST.get("queue", ""), actor=forms.actor(request), reason=forms.reason(request)
        )
        return _("%(name)s is on its queue as %(job)s.") % {"name": wording.named(name), "job": wording.short(job)}

    return forms.carry_out(request, work)


@action("stop_batch")
def stop_batch(request: HttpRequest) -> HttpResponse:
    """``batch``, ``reason``. What was done stays done."""

    def work() -> str:
        try:
            batch = batches.stop(forms.text(request, "batch"), by=forms.actor(request), reason=forms.reason(request))
        except Batch.DoesNotExist:
            raise forms.Wrong(_("This bulk work is not known any more.")) from None
        if batch.state != Batch.State.STOPPED:
            return _("It had ended already: %(n)s done.") % {"n": f"{batch.done:,}"}
        return _("Stopped: %(n)s were done, the rest is left as it was.") % {"n": f"{batch.done:,}"}

    return forms.carry_out(request, work)


VIEWS: dict[str, View] = {
    "replay": _bulk("replay", operations.replay, gettext_lazy("Replayed")),
    "discard": _bulk("discard", operations.discard, gettext_lazy("Discarded")),
    "quarantine": _bulk("quarantine", operations.quarantine, gettext_lazy("Quarantined")),
    "requeue": _bulk("requeue", operations.requeue, gettext_lazy("Requeued")),
    "run_now": _bulk("run_now", operations.run_now, gettext_lazy("Put on their queues")),
    "run_cron": run_cron,
    "stop_batch": stop_batch,
}
