"""Addresses of the project: login, admin, and the dashboard at the root."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import require_safe

admin.site.site_header = "queueops"
admin.site.site_title = "queueops"


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """Answers that the web process runs; says nothing of the queues."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("healthz", alive, name="alive"),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls")),
]
