"""``/queues/``: which queue keeps up; with ``?name=``, one of them in full."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard import recoveries
from dashboard.access import page
from dashboard.selectors import job_lists as lists
from dashboard.selectors import queues, snapshots, store
from dashboard.views.history import charts
from dashboard.views.jobs import listed
from dashboard.views.sharing import shared
from dashboard.views.shell import show, unavailable


@page
@shared
def queues_page(request: HttpRequest) -> HttpResponse:
    """The list, or one queue. An empty name is a name."""
    state = snapshots.current()
    if "name" not in request.GET:
        return show(request, "queues", {"state": state, "rows": state.queues}, every=2)
    name = request.GET["name"]
    tab = request.GET.get("state", "")
    tab = tab if tab in lists.TABS else "queued"
    row = state.queue(name)
    if "state" not in request.GET and row and not row.open.get("queued"):
        tab = next((s for s in lists.TABS if row.open.get(s)), "queued")
    after, before = request.GET.get("after", ""), request.GET.get("before", "")
    try:
        found = queues.queue(name, tab, row, state.banner, after=after, before=before)
    except store.StoreDown as error:
        return unavailable(request, "queues", error)
    recovery = found.recovery and recoveries.words(found.recovery)
    context = {"state": state, "queue": found, "recovery": recovery, "row": row, "name": name, **listed(found.jobs)}
    if found.known:
        context |= charts(request.GET, state.now, name, max_age=row.max_age if row else None)
    return show(request, "queues_one", context, status=200 if found.known else 404)
