"""What a dialog sends: read, checked, and answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect
from redis.exceptions import RedisError

from dashboard.selectors import snapshots
from queueops.operations import Change, OperationError, told

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST = 30 * 86400


class Wrong(Exception):
    """The form cannot be carried out; the text is for the person."""


def actor(request: HttpRequest) -> str:
    """Who does it, for the audit row."""
    return str(request.user.get_username())


def reason(request: HttpRequest) -> str:
    """Why; required."""
    text = request.POST.get("reason", "").strip()
    if not text:
        raise Wrong(_("Say why: the reason is kept with your name."))
    return text[:2000]


def seconds(request: HttpRequest) -> float | None:
    """The duration chosen (``30m``, ``2h``); None for "until lifted"."""
    text = request.POST.get("for", "").strip().lower()
    if not text:
        return None
    number, unit = text[:-1], text[-1]
    if unit not in UNITS or not number.isascii() or not number.isdigit() or len(number) > 7:
        raise Wrong(_("The duration is a number with s, m, h or d, like 30m."))
    value = int(number) * UNITS[unit]
    if not 0 < value <= LONGEST:
        raise Wrong(_("The duration is between a second and 30 days."))
    return float(value)


def whole(request: HttpRequest, name: str) -> int:
    """A whole number field."""
    text = request.POST.get(name, "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 7:
        raise Wrong(_("The limit is a whole number; 0 means stop."))
    return int(text)


def back(request: HttpRequest) -> HttpResponse:
    """To the page that the dialog was on; never to another site."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = reverse("dashboard:overview")
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRedirect(target)
    return HttpResponseRedirect(target)


def carry_out(request: HttpRequest, work: Callable[[], str]) -> HttpResponse:
    """Run the verb; say what happened, or why it did not."""
    try:
        messages.success(request, work())
    except Wrong as error:
        messages.error(request, str(error))
    except OperationError as error:
        messages.error(request, str(error))
    except RedisError as error:
        text = _("Redis did not answer, so nothing is certain: look at the page before trying again. (%(error)s)")
        messages.error(request, text % {"error": told(error)})
    finally:
        snapshots.forget()
    return back(request)


def everywhere(request: HttpRequest, change: Change) -> None:
    """Say where a change is not in force yet: a server that does not answer."""
    if change.behind:
        text = _("Not yet on the server of %(entries)s, which does not answer: the monitor sees to it.")
        messages.warning(request, text % {"entries": ", ".join(change.behind)})


def text(request: HttpRequest, name: str) -> Any:
    """A field that must be there; it may be empty."""
    if name not in request.POST:
        raise Wrong(_("The form is incomplete: %(name)s is missing.") % {"name": name})
    return request.POST[name]
