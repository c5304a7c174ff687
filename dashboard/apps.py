"""The Django app of the pages."""

from __future__ import annotations

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Label ``queueops_dashboard``: the plain word is taken in many projects."""

    name = "dashboard"
    label = "queueops_dashboard"
    verbose_name = "queueops dashboard"
