"""A project of somebody's own, with the dashboard under a prefix."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from queueops.project.urls import urlpatterns as ours


def shop(request: HttpRequest) -> HttpResponse:
    return HttpResponse("the shop itself")


urlpatterns = [path("", shop), *ours[:-1], path("ops/", include("dashboard.urls"))]
