"""What every page has around it: navigation with counts, health, what is in force, permissions, freshness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from dashboard import access, sentences, states
from dashboard.selectors import snapshots, store
from dashboard.views.sharing import AGE, RIGHTS, is_part


@dataclass(frozen=True, slots=True)
class Entry:
    """A link of the navigation; ``hot`` is the state class of a count that wants attention."""

    page: str
    word: str
    count: str = ""
    hot: str = ""


def _navigation(state: snapshots.State) -> list[tuple[str, str, list[Entry]]]:
    silent, full, kept = state.workers("silent"), state.controls("full"), int(state.total("quarantined") or 0)
    queues = str(len(state.queues) or "")
    waiting = sum(row.waiting for row in state.queues)
    late = sum(1 for row in state.queues if (row.times_target or 0) >= 1 and not row.paused)
    return [
        ("now", _("Now"), [
            Entry("overview", _("Overview")),
            Entry("queues", _("Queues"), _("%(n)s late") % {"n": late} if late else queues, "s-bad" if late else ""),
            Entry("jobs", _("Jobs")),
            Entry("workers", _("Workers"), _("%(n)s silent") % {"n": silent} if silent else "", "s-warn"),
        ]),
        ("controls", _("Controls"), [
            Entry("locks", _("Locks"), _("%(n)s full") % {"n": full} if full else "", "s-warn"),
            Entry("changelog", _("Changelog")),
        ]),
        ("flow", _("Flow"), [
            Entry("backlog", _("Backlog"), f"{waiting:,}" if waiting else ""),
            Entry("flow", _("Flow")),
            Entry("diagnosis", _("Diagnosis")),
        ]),
        ("act", _("Act"), [
            Entry("quarantine", _("Quarantine"), f"{kept:,}" if kept else "", "s-quarantined"),
            Entry("interventions", _("Interventions")),
        ]),
    ]  # fmt: skip


def show(
    request: HttpRequest, page: str, context: dict[str, Any], *, every: int = 3, status: int = 200
) -> HttpResponse:
    """``dashboard/<page>.html``, or only its live part when htmx asks. ``every``: seconds between refreshes."""
    state = context.get("state") or snapshots.current()
    look = states.level(state.level)
    context = {
        "base": "dashboard/_live.html" if is_part(request) else "dashboard/base.html",
        "page": page.split("_")[0],
        "state": state,
        "down": state.down,
        "known": bool(state.snapshots) or not state.down,
        "every": every,
        "look": look,
        "sentence": sentences.health(state),
        "restraints": [sentences.restraint(item) for item in state.banner],
        "navigation": _navigation(state),
        "may": {name: access.may(request.user, name) for name in RIGHTS},
        "now": state.now,
        "age_ms": int(state.age * 1000),
        "worst": max((r for r in state.queues if not r.paused), key=lambda r: r.times_target or 0, default=None),
        **context,
    }
    response = render(request, f"dashboard/{page}.html", context, status=status)
    if state.snapshots:
        response[AGE] = str(context["age_ms"])
    response["Vary"] = "HX-Request, HX-Target, Cookie, Accept-Language"
    return response


def unavailable(request: HttpRequest, page: str, error: store.StoreDown) -> HttpResponse:
    """The page with a panel in place of its data: the server it needs does not answer."""
    return show(request, "unavailable", {"page": page, "down": (error.down,)})


def number(text: str | None, most: int = 10_000_000) -> int:
    """A non-negative number from the query; 0 for anything else."""
    return min(int(text), most) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0
