"""Tags of the pages about jobs."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.templatetags.qo import state, verb, when
from queueops.telemetry.clock import from_iso

register = template.Library()

VERBS = {
    "pause": gettext_lazy("Pause"),
    "resume": gettext_lazy("Resume"),
    "isolate": gettext_lazy("Isolate"),
    "unisolate": gettext_lazy("Let run"),
    "limit": gettext_lazy("Limit"),
    "unlimit": gettext_lazy("Revert the limit"),
    "release": gettext_lazy("Release"),
    "quiet": gettext_lazy("Quiet"),
    "unquiet": gettext_lazy("Unquiet"),
    "stop": gettext_lazy("Kill job"),
    "stop worker": gettext_lazy("Stop worker"),
    "requeue": gettext_lazy("Requeue"),
    "replay": gettext_lazy("Replay"),
    "run_now": gettext_lazy("Run now"),
    "quarantine": gettext_lazy("Quarantine"),
    "discard": gettext_lazy("Discard"),
    "deploy": gettext_lazy("Deploy"),
}


@register.simple_tag
def verbname(name: str) -> str:
    """A verb as buttons write it."""
    return str(VERBS.get(name, name))


@register.simple_tag
def doaction(name: str) -> str:
    """Where the form of a verb goes."""
    return reverse(f"dashboard:do_{name}")


@register.simple_tag(takes_context=True)
def bulkverb(context: template.Context, name: str, first: bool = False) -> SafeString:
    """The button of a verb above a list."""
    look: dict[str, Any] = {"danger": 1} if name == "discard" else {"primary": 1} if first else {}
    return verb(context, name, "replay", _("%(verb)s…") % {"verb": VERBS[name]}, small=1, needs_selection=1, **look)


OUTCOMES = {
    "failed": ("failed", gettext_lazy("failed")),
    "retried": ("failed", gettext_lazy("failed, to be tried again")),
    "crashed": ("failed", gettext_lazy("its process died")),
    "put_back": ("queued", gettext_lazy("put back, not counted")),
}
"""How an attempt may end, where no state says so."""
SHOWN = 8_000
"""Characters of a traceback, its end."""


@register.simple_tag
def outcome(name: str) -> SafeString:
    """How an attempt ended."""
    look, words = OUTCOMES.get(name, (name, ""))
    return state(look, str(words))


@register.filter
def endof(text: str) -> str:
    """The end of a long text, which says most in a traceback."""
    return text if len(text) <= SHOWN else f"…{text[-SHOWN:]}"


@register.filter
def controlpart(value: str) -> str:
    """The control of an instance id, as addresses carry it."""
    return value.partition("\x1f")[0]


@register.simple_tag
def isotime(text: str) -> SafeString:
    """A moment that RQ wrote as text."""
    return when(from_iso(text), "day")
