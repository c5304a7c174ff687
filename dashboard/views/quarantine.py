"""``/quarantine/``: what do I do with these?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard.access import page
from dashboard.selectors import quarantine as kept
from dashboard.selectors import snapshots
from dashboard.views.sharing import shared
from dashboard.views.shell import show


@page
@shared
def quarantine(request: HttpRequest) -> HttpResponse:
    """The kept jobs under a filter of the address, with counts beside each choice."""
    get = request.GET
    wanted = kept.Filter(**{name: get[name] for name in kept.FIELDS if name in get})
    state = snapshots.current()
    found = kept.page(wanted, after=get.get("after", ""))
    in_store = state.total("quarantined")
    behind = int(in_store) - found.total if in_store is not None and not state.down else 0
    return show(request, "quarantine", {"state": state, "found": found, "wanted": wanted, "behind": max(0, behind)})
