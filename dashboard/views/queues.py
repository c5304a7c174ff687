"""``/queues/``: which queue keeps up; with ``?name=``, one of them in full."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard import states
from dashboard.access import page
from dashboard.selectors import job_lists as jobs
from dashboard.selectors import queues, snapshots, store
from dashboard.views.shell import number, show, unavailable


@page
def queues_page(request: HttpRequest) -> HttpResponse:
    """The list, or one queue. An empty name is a name."""
    state = snapshots.current()
    if "name" not in request.GET:
        return show(request, "queues", {"state": state, "rows": state.queues}, every=2)
    name = request.GET["name"]
    shown = request.GET.get("state", "")
    shown = shown if shown in jobs.STATES else "queued"
    row = state.queue(name)
    if "state" not in request.GET and row and not row.open.get("queued"):
        shown = next((s for s in jobs.STATES if row.open.get(s)), "queued")
    try:
        found = queues.queue(name, shown, row, offset=number(request.GET.get("offset")))
    except store.StoreDown as error:
        return unavailable(request, "queues", error)
    context = {
        "state": state,
        "queue": found,
        "row": row,
        "name": name,
        "tabs": [(s, found.jobs.counts.get(s)) for s in jobs.STATES],
        "state_word": states.state(shown).word,
        "following": found.jobs.offset + jobs.PAGE,
    }
    return show(request, "queues_one", context)
