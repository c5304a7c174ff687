"""Addresses of the pages and of the changes. A name is in the query, never in the path; a job's id is the exception."""

from __future__ import annotations

from django.urls import path, register_converter

from dashboard.actions import bulk, verbs
from dashboard.actions import workers as worker_verbs
from dashboard.views.backlog import backlog
from dashboard.views.changelog import changelog, export
from dashboard.views.diagnosis import diagnosis
from dashboard.views.flow import flow, function_page
from dashboard.views.history import export as history_export
from dashboard.views.interventions import interventions
from dashboard.views.jobs import job_page, jobs_page
from dashboard.views.locks import locks_page
from dashboard.views.overview import overview
from dashboard.views.quarantine import quarantine
from dashboard.views.queues import queues_page
from dashboard.views.workers import workers

app_name = "dashboard"


class JobId:
    """Any text: ids made by other producers may hold slashes, and broken ones newlines."""

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(JobId, "jobid")

urlpatterns = [
    path("", overview, name="overview"),
    path("queues/", queues_page, name="queues"),
    path("jobs/", jobs_page, name="jobs"),
    path("jobs/<jobid:job_id>/", job_page, name="job"),
    path("workers/", workers, name="workers"),
    path("locks/", locks_page, name="locks"),
    path("changelog/", changelog, name="changelog"),
    path("changelog/export.<str:kind>", export, name="changelog_export"),
    path("backlog/", backlog, name="backlog"),
    path("flow/", flow, name="flow"),
    path("flow/function/", function_page, name="function"),
    path("flow/history.csv", history_export, name="history_export"),
    path("diagnosis/", diagnosis, name="diagnosis"),
    path("quarantine/", quarantine, name="quarantine"),
    path("interventions/", interventions, name="interventions"),
    *[
        path(f"do/{verb}/", view, name=f"do_{verb}")
        for verb, view in {**verbs.VIEWS, **bulk.VIEWS, **worker_verbs.VIEWS}.items()
    ],
]
