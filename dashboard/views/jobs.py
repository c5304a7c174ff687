"""``/jobs/``: find one; ``/jobs/<id>/``: why is it not running?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard import explaining
from dashboard.access import page
from dashboard.selectors import changelog, jobs, quarantine, search, store
from dashboard.views.shell import show, unavailable

SHOWN = ("queue", "function", "claim", "attempts")
"""Facts of the explanation that the page shows in a place of their own."""


@page
def jobs_page(request: HttpRequest) -> HttpResponse:
    """The search: an exact id leads straight to its job."""
    text = request.GET.get("q", "").strip()[:500]
    found = search.search(text) if text else None
    if found and found.job:
        return redirect("dashboard:job", job_id=found.job)
    return show(request, "jobs", {"q": text, "found": found}, every=0)


@page
def job_page(request: HttpRequest, job_id: str) -> HttpResponse:
    """One job, from its plain fields; what only the SQL copy knows when its hash is gone."""
    try:
        job = jobs.job(job_id, full="full" in request.GET)
        copy = quarantine.of_job(job_id)
        entries = changelog.of_job(job.server if job else "", job_id)
    except store.StoreDown as error:
        return unavailable(request, "jobs", error)
    why = explaining.why(job_id)
    facts = [fact for fact in why.facts if fact.label not in SHOWN] if why else []
    context = {"job": job, "job_id": job_id, "copy": copy, "entries": entries, "why": why, "facts": facts}
    return show(request, "jobs_one", context, status=200 if job or copy or entries else 404)
