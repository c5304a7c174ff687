"""``/jobs/``: all jobs by state; ``/jobs/<id>/``: why is it not running?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard import explaining
from dashboard.access import page
from dashboard.arguments import arguments
from dashboard.selectors import attempts, batches, quarantine, search, snapshots, store
from dashboard.selectors import job_lists as lists
from dashboard.selectors.job_story import story
from dashboard.views import filters
from dashboard.views.sharing import shared
from dashboard.views.shell import show, unavailable
from queueops.conf import conf

SHOWN = ("queue", "function", "claim", "attempts", "depends on", "place", "place in line", "next try", "replay of")
"""Facts of the explanation that the page shows in a place of their own."""
OVER = ("completed", "failed", "stopped", "quarantined", "discarded", "canceled")
"""States of a job that nothing will start by itself."""
VERBS: dict[str, tuple[str, ...]] = {
    "queued": ("quarantine", "discard"),
    "parked": ("quarantine", "discard"),
    "scheduled": ("run_now", "quarantine", "discard"),
    "retries": ("run_now", "quarantine", "discard"),
    "deferred": ("quarantine", "discard"),
    "failed": ("requeue", "discard"),
    "quarantined": ("replay", "discard"),
    "recurring": ("run_now",),
}
"""What the jobs of a list can be told, all at once."""


def listed(found: lists.JobPage) -> dict[str, Any]:
    """What the partial of a list needs beside its page."""
    return {"jobs": found, "verbs": VERBS.get(found.tab, ()), "wanted": found.wanted, "works": batches.current()}


@page
@shared
def jobs_page(request: HttpRequest) -> HttpResponse:
    """A list under the filter of the address. A text typed into the search leads straight to the job of that id."""
    text = request.GET.get("q", "").strip()[:500]
    found = search.search(text) if text else None
    if found and found.job and not {"after", "before", "state"} & set(request.GET):
        return redirect("dashboard:job", job_id=found.job)
    state = snapshots.current()
    asked = filters.of(request, _first(state) if not text else "queued")
    page_ = lists.page(
        asked.tab, asked.wanted, after=request.GET.get("after", ""), before=request.GET.get("before", "")
    )
    context = {
        "state": state,
        "down": page_.down,
        "q": text,
        "found": found,
        "asked": asked,
        "queue_names": sorted({row.name for row in state.queues}),
        **listed(page_),
    }
    return show(request, "jobs", context, every=10 if asked.active else 3)


def _first(state: snapshots.State) -> str:
    """The list to begin with: the first that holds something."""
    return next((s for s in ("queued", "running", "parked") if any(row.open.get(s) for row in state.queues)), "queued")


@page
@shared
def job_page(request: HttpRequest, job_id: str) -> HttpResponse:
    """One job, from its plain fields; what only the SQL copy knows when its hash is gone."""
    try:
        found = story(job_id, full="full" in request.GET)
    except store.StoreDown as error:
        return unavailable(request, "jobs", error)
    job, entries, copy = found.job, found.entries, quarantine.of_job(job_id)
    why = explaining.why(job_id, found.facts)
    facts = [fact for fact in why.told.facts if _shown(fact.label)] if why else []
    context: dict[str, Any] = {
        "job": job,
        "job_id": job_id,
        "copy": copy,
        "why": why,
        "facts": facts,
        "entries": entries,
    }
    if job:
        begun = job.times.get("created_at", 0)
        moments = attempts.timeline(entries, begun, job.queue)
        whole = attempts.whole(moments, job.attempts, job.state in OVER)
        runs = attempts.attempts(entries, job.results, job.attempts, job.now, begun)
        context |= {
            "moments": moments,
            "gap": bool(begun) and not whole,
            "spans": attempts.spans(moments, job.now) if begun and whole else None,
            "attempts": runs,
            "errors": [run for run in reversed(runs) if run.error or run.cut],
            "arguments": arguments(job.description.value) if not job.description.cut else None,
            "log_url": conf.log_url(job_id=job.id, queue=job.queue, function=job.function, worker=job.worker),
        }
    else:
        context["moments"] = attempts.timeline(entries, 0, "")
    return show(request, "jobs_one", context, status=200 if job or copy or entries else 404)


def _shown(label: str) -> bool:
    return label not in SHOWN and not label.startswith("holder ")
