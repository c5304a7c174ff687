"""Web socket addresses. Whoever mounts them checks the origin and reads the session (see ``queueops.project.asgi``)."""

from __future__ import annotations

from django.urls import path

from dashboard.consumers import LiveConsumer

websocket_urlpatterns = [path("ws/live/", LiveConsumer.as_asgi())]
