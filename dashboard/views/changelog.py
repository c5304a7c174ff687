"""``/changelog/``: what happened, in which order?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import changelog as log
from dashboard.selectors import store
from dashboard.views.shell import show, unavailable

SUBJECTS = ("lock", "semaphore", "rate", "job", "lease", "control", "queue", "function")


@page
def changelog(request: HttpRequest) -> HttpResponse:
    """Newest first; every filter is in the address."""
    get = request.GET
    wanted = log.Filter(
        event=get.get("event", "").strip(),
        queue=get.get("queue"),
        function=get.get("function", "").strip(),
        job=get.get("job", "").strip(),
        control=get.get("control", ""),
        text=get.get("q", "").strip()[:200],
    )
    try:
        found = log.page(wanted, alias=get.get("server", ""), before=get.get("before", ""))
    except store.StoreDown as error:
        return unavailable(request, "changelog", error)
    context = {"found": found, "wanted": wanted, "subjects": SUBJECTS, "paged": "before" in get}
    return show(request, "changelog", context, every=0 if "before" in get else 2)
