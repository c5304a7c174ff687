"""The ASGI application: Django for HTTP, Channels for web sockets."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueops.project.settings")
http = get_asgi_application()

from dashboard.routing import websocket_urlpatterns  # noqa: E402  (needs the apps to be loaded)


async def no_such_socket(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Refuses a web socket at an unknown address, where the router would raise."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


sockets = URLRouter([*websocket_urlpatterns, re_path(r"", no_such_socket)])
application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(sockets)),
    }
)
