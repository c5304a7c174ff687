"""``/diagnosis/``: why are queues late? Hypotheses with their evidence, never a verdict."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from dashboard import diagnoses
from dashboard.access import page
from dashboard.selectors import snapshots
from dashboard.selectors.diagnosis import explain, services
from dashboard.views.sharing import shared
from dashboard.views.shell import show


@page
@shared
def diagnosis(request: HttpRequest) -> HttpResponse:
    """The late queues, the latest first, each with what may be the reason."""
    state = snapshots.current()
    found = explain(state)
    context = {
        "state": state,
        "found": [(one, diagnoses.words(one)) for one in found.queues],
        "more": found.more,
        "services": services(state.now),
    }
    return show(request, "diagnosis", context, every=5)
