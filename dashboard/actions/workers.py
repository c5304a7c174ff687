"""quiet, unquiet, stop a worker; stop a running job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from dashboard import wording
from dashboard.access import View, action
from dashboard.actions import forms
from queueops import operations


@action("quiet")
def quiet(request: HttpRequest) -> HttpResponse:
    """``worker``, ``reason``."""

    def work() -> str:
        worker = forms.text(request, "worker")
        operations.quiet(worker, actor=forms.actor(request), reason=forms.reason(request))
        return _("%(worker)s starts nothing new. What it runs now finishes.") % {"worker": wording.named(worker)}

    return forms.carry_out(request, work)


@action("unquiet")
def unquiet(request: HttpRequest) -> HttpResponse:
    """``worker``, ``reason``."""

    def work() -> str:
        worker = forms.text(request, "worker")
        operations.unquiet(worker, actor=forms.actor(request), reason=forms.reason(request))
        return _("%(worker)s starts jobs again.") % {"worker": wording.named(worker)}

    return forms.carry_out(request, work)


@action("stop_worker")
def stop_worker(request: HttpRequest) -> HttpResponse:
    """``worker``, ``reason``."""

    def work() -> str:
        worker = forms.text(request, "worker")
        done = operations.stop_worker(worker, actor=forms.actor(request), reason=forms.reason(request))
        if done.job:
            return _("%(worker)s was told to end. It finishes its job first.") % {"worker": wording.named(worker)}
        return _("%(worker)s was told to end.") % {"worker": wording.named(worker)}

    return forms.carry_out(request, work)


@action("stop_job")
def stop_job(request: HttpRequest) -> HttpResponse:
    """``job``, ``reason``."""

    def work() -> str:
        job = forms.text(request, "job")
        done = operations.stop_job(job, actor=forms.actor(request), reason=forms.reason(request))
        return _("%(worker)s was told to kill the job. It fails as stopped and is not retried.") % {
            "worker": wording.named(done.worker)
        }

    return forms.carry_out(request, work)


VIEWS: dict[str, View] = {"quiet": quiet, "unquiet": unquiet, "stop_worker": stop_worker, "stop_job": stop_job}
