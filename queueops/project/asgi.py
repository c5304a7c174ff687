"""The ASGI application: Django for HTTP, Channels for web sockets."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

import django
from asgiref.sync import sync_to_async
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueops.project.settings")


class Handler(ASGIHandler):
    """Middleware and view run in one visit to the worker thread: Django's own handler goes there for each of them."""

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


django.setup(set_prefix=False)
http = Handler()

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
