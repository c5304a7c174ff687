"""``/changelog/``: what happened, in which order?"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict

from dashboard import exports
from dashboard.access import page
from dashboard.selectors import changelog as log
from dashboard.selectors import snapshots, store
from dashboard.views.shell import show, unavailable
from queueops.conf import conf

SUBJECTS = (
    "job", "lock", "semaphore", "rate", "unique", "breaker", "lease", "control", "queue", "function", "worker",
)  # fmt: skip
SPANS = {"15m": 900, "1h": 3600, "6h": 21_600, "1d": 86_400}
"""Seconds behind the newest entry that the page offers."""


def _moment(text: str) -> int:
    """ms of an ISO time (UTC when it names no zone); 0 for anything else."""
    try:
        at = datetime.fromisoformat(text.strip())
        return max(0, int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def _wanted(get: QueryDict) -> log.Filter:
    span = SPANS.get(get.get("span", ""))
    start = snapshots.current().now // 1000 - span * 1000 if span else _moment(get.get("from", ""))
    return log.Filter(
        event=get.get("event", "").strip(),
        queue=get.get("queue"),
        function=get.get("function", "").strip(),
        job=get.get("job", "").strip(),
        control=get.get("control", ""),
        worker=get.get("worker", "").strip(),
        by=get.get("by", "").strip(),
        text=get.get("q", "").strip()[:200],
        start=start,
        end=_moment(get.get("to", "")),
    )


@page
def changelog(request: HttpRequest) -> HttpResponse:
    """Newest first; every filter is in the address."""
    get, wanted = request.GET, _wanted(request.GET)
    try:
        found = log.page(wanted, alias=get.get("server", ""), before=get.get("before", ""))
    except store.StoreDown as error:
        return unavailable(request, "changelog", error)
    context = {
        "found": found,
        "wanted": wanted,
        "subjects": SUBJECTS,
        "spans": SPANS,
        "span": get.get("span", ""),
        "paged": "before" in get,
        "off": conf.CHANGELOG_LENGTH == 0,
    }
    return show(request, "changelog", context, every=0 if "before" in get else 2)


@page
def export(request: HttpRequest, kind: str) -> HttpResponseBase:
    """All that passes the filters of the address, as CSV or JSON lines."""
    if kind not in exports.FORMATS:
        raise Http404
    entries = log.stream(_wanted(request.GET), alias=request.GET.get("server", ""))
    try:
        first = next(entries, None)
    except store.StoreDown as error:
        return unavailable(request, "changelog", error)
    return exports.changelog(chain([first] if first else [], entries), kind)
