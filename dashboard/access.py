"""Who may see and who may act. Superusers may everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

VIEW = "view_dashboard"
VERBS = {
    "pause": "operate",
    "resume": "operate",
    "isolate": "operate",
    "unisolate": "operate",
    "limit": "operate",
    "quiet": "operate",
    "unquiet": "operate",
    "stop_worker": "operate",
    "stop_job": "operate",
    "release": "release",
    "quarantine": "replay",
    "replay": "replay",
    "discard": "replay",
    "requeue": "replay",
    "run_now": "replay",
    "run_cron": "replay",
    "stop_batch": "replay",
}
"""Permission codename of each verb."""

NEEDED = {
    VIEW: gettext_lazy("see the dashboard"),
    "operate": gettext_lazy("pause, resume, limit, isolate and stop"),
    "replay": gettext_lazy("replay, requeue, run now, quarantine and discard"),
    "release": gettext_lazy("release a lock by force"),
}

View = Callable[..., HttpResponse]


def may(user: Any, codename: str) -> bool:
    """True when the user has the permission ``queueops.<codename>`` (and may see the dashboard at all)."""
    return user.is_active and user.has_perm(f"queueops.{VIEW}") and user.has_perm(f"queueops.{codename}")


def forbidden(request: HttpRequest, codename: str) -> HttpResponse:
    """403 in our look: which permission is missing, and who can give it."""
    text = _("Your account may not %(what)s.") % {"what": NEEDED.get(codename, codename)}
    context = {"text": text, "permission": f"queueops.{codename}", "sees": may(request.user, VIEW)}
    return render(request, "dashboard/forbidden.html", context, status=403)


def page(view: View) -> View:
    """A page: GET or HEAD, logged in, allowed to see. It is never kept by caches."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not may(request.user, VIEW):
            return forbidden(request, VIEW)
        return view(request, *args, **kwargs)

    asked_by_person = login_required(guarded)

    @wraps(view)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated and request.headers.get("HX-Request") == "true":
            return HttpResponseClientRefresh()  # the whole page leads to the login, not the part that is refreshed
        return asked_by_person(request, *args, **kwargs)

    return never_cache(require_safe(asked))


def action(verb: str) -> Callable[[View], View]:
    """A change: POST, logged in, with the verb's permission."""

    def wrap(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not may(request.user, VERBS[verb]):
                return forbidden(request, VERBS[verb])
            return view(request, *args, **kwargs)

        return never_cache(require_POST(login_required(guarded)))

    return wrap
