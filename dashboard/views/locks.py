"""``/locks/``: who holds what, who waits, is an owner gone?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from dashboard import states
from dashboard.access import page
from dashboard.selectors import locks, store
from dashboard.views.sharing import shared
from dashboard.views.shell import number, show, unavailable
from queueops.conf import conf

REFUSALS = ("job.parked", "job.skipped", "lock.refused", "semaphore.refused", "rate.refused")


@page
@shared
def locks_page(request: HttpRequest) -> HttpResponse:
    """The list; ``?control=`` one control with its keys; ``&key=`` one key in full."""
    name = request.GET.get("control", request.GET.get("name"))
    alias = request.GET.get("server", "")
    try:
        if name is None:
            return _list(request)
        if "key" in request.GET:
            return _key(request, alias, name, request.GET["key"])
        offset = number(request.GET.get("offset"))
        control = locks.control(alias, name, offset)
        # without a live key it is shown as if it had none: the same page as when somebody takes it
        if control and (control.single or (not control.keys and control.kind in ("semaphore", "rate"))):
            return _key(request, alias, control.id, "")
    except store.StoreDown as error:
        return unavailable(request, "locks", error)
    following = offset + locks.MAX_KEYS
    context = {
        "name": name,
        "control": control,
        "following": following if control and control.keys > following else None,
    }
    return show(request, "locks_control", context, status=200 if control else 404)


def _list(request: HttpRequest) -> HttpResponse:
    kind, text = request.GET.get("kind", ""), request.GET.get("q", "").strip()[:200]
    found = locks.controls(text)
    rows = [
        row
        for row in found.rows
        if (not kind or _is(row, kind)) and (request.GET.get("conflict") is None or row.conflict)
    ]
    words = {
        **states.KINDS,
        "overridden": gettext("Overridden"),
        "conflict": gettext("Two releases disagree"),
        "full": gettext("Full"),
        "gone": gettext("No living job"),
    }
    tabs = [(name, word, sum(_is(row, name) for row in found.rows)) for name, word in words.items()]
    context = {"found": found, "rows": rows, "tabs": tabs, "kind": kind, "q": text, "down": found.down}
    return show(request, "locks", context)


def _is(row: locks.Control, kind: str) -> bool:
    flags = {
        "overridden": bool(row.override),
        "conflict": bool(row.conflict),
        "full": bool(row.full),
        "gone": bool(row.gone),
    }
    return flags.get(kind, row.kind == kind)


def _key(request: HttpRequest, alias: str, name: str, key: str) -> HttpResponse:
    wanted = locks.control_ids(name)
    lock = locks.lock(alias, wanted[0], key)
    context = {
        "lock": lock,
        "name": name,
        "key": key,
        "refusals": sum(e.event in REFUSALS for e in lock.history) if lock else 0,
        "kept": conf.LOCK_HISTORY,
        "kept_for": conf.LOCK_HISTORY_KEPT,
    }
    return show(request, "locks_one", context, every=2, status=200 if lock else 404)
