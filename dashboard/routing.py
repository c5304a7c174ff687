"""Web socket addresses. Whoever mounts them checks the origin and reads the session (see ``queueops.project.asgi``)."""

from __future__ import annotations

from django.urls import re_path

from dashboard.consumers import LiveConsumer

websocket_urlpatterns = [re_path(r"^(?:.*/)?ws/live/$", LiveConsumer.as_asgi())]
"""Under any prefix: the pages ask for it beside the overview, wherever that is mounted."""
