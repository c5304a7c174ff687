"""``/changelog/``: what happened, in which order?"""

from __future__ import annotations

from itertools import chain

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict

from dashboard import exports
from dashboard.access import page
from dashboard.selectors import changelog as log
from dashboard.selectors import snapshots, store
from dashboard.views import times
from dashboard.views.sharing import shared
from dashboard.views.shell import show, unavailable
from queueops.conf import conf

SUBJECTS = (
    "job", "lock", "semaphore", "rate", "unique", "breaker", "lease", "control", "queue", "function", "worker",
)  # fmt: skip
TEXTS = ("event", "function", "job", "about", "worker", "by")
LONGEST = 500
"""Characters of a filter."""


def _wanted(get: QueryDict) -> tuple[log.Filter, times.Times]:
    """An empty ``queue`` means any, but for ``empty`` beside it: it is a name, too."""
    when = times.asked(get, snapshots.current().now)
    wanted = log.Filter(
        **{name: get.get(name, "").strip()[:LONGEST] for name in TEXTS},
        control=get.get("control", ""),
        queue=get.get("queue") or ("" if "empty" in get else None),
        text=get.get("q", "").strip()[:LONGEST],
        start=when.start,
        end=when.end,
    )
    return wanted, when


@page
@shared
def changelog(request: HttpRequest) -> HttpResponse:
    """Newest first; every filter is in the address."""
    get = request.GET
    wanted, when = _wanted(get)
    try:
        found = log.page(wanted, alias=get.get("server", ""), before=get.get("before", ""))
    except store.StoreDown as error:
        return unavailable(request, "changelog", error)
    context = {
        "found": found,
        "wanted": wanted,
        "subjects": SUBJECTS,
        "spans": times.spans(),
        "times": when,
        "queue_names": sorted({row.name for row in snapshots.current().queues}),
        "paged": "before" in get,
        "off": conf.CHANGELOG_LENGTH == 0,
    }
    return show(request, "changelog", context, every=0 if "before" in get else 2)


@page
def export(request: HttpRequest, kind: str) -> HttpResponseBase:
    """All that passes the filters of the address, as CSV or JSON lines."""
    if kind not in exports.FORMATS:
        raise Http404
    entries = log.stream(_wanted(request.GET)[0], alias=request.GET.get("server", ""))
    try:
        first = next(entries, None)
    except store.StoreDown as error:
        return unavailable(request, "changelog", error)
    return exports.changelog(chain([first] if first else [], entries), kind)
