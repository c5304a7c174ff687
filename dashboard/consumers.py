"""The live socket: it tells the page that there is a new snapshot. Checked at connect and every 30 s."""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from dashboard.access import VIEW, may
from dashboard.hub import Mailbox, closed, hub

logger = logging.getLogger("queueops.dashboard")

MAX_SOCKETS = 1000
"""Per web process; one more is told to poll (4429)."""
RECHECK = 30.0
SEND_TIMEOUT = 10.0
"""Seconds after which a reader that takes nothing is cut off."""

LOGGED_OUT, FORBIDDEN, SILENT, FULL = 4401, 4403, 4408, 4429


class LiveConsumer(AsyncWebsocketConsumer):
    """Accepts, then closes with a code that says why: a browser cannot read the reason of a refused handshake."""

    box: Mailbox | None = None
    sender: asyncio.Task[None] | None = None
    watcher: asyncio.Task[None] | None = None
    answered = True

    async def connect(self) -> None:
        refusal = await self._refusal()
        if refusal is None and len(hub) >= MAX_SOCKETS:
            refusal = FULL
        await self.accept()
        if refusal is not None:
            await self.close(code=refusal)
            return
        self.box = Mailbox(asyncio.get_running_loop())
        hub.join(self.box)
        self.sender = asyncio.create_task(self._send_newest(self.box))
        self.watcher = asyncio.create_task(self._watch())

    async def disconnect(self, code: int) -> None:
        if self.box is not None:
            hub.leave(self.box)
        current = asyncio.current_task()
        for task in (self.sender, self.watcher):
            if task is not None and task is not current:
                task.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page only ever answers a ping."""
        self.answered = True

    async def _send_newest(self, box: Mailbox) -> None:
        try:
            while True:
                await box.wake.wait()
                for message, at in box.take().values():
                    # not wait_for: Python 3.11's can swallow a cancellation, and this task would never end
                    async with asyncio.timeout(SEND_TIMEOUT):
                        await self.send(text_data=closed(message, at))
        except TimeoutError:
            await self.close(code=SILENT)
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.debug("a live socket ended while sending", exc_info=True)

    async def _watch(self) -> None:
        """Session, permission and life of the socket."""
        while True:
            self.answered = False
            await self.send(text_data='{"t":"ping"}')
            await asyncio.sleep(RECHECK)
            refusal = await self._refusal()
            if refusal is None and not self.answered:
                refusal = SILENT
            if refusal is not None:
                await self.close(code=refusal)
                return

    @database_sync_to_async
    def _refusal(self) -> int | None:
        """Why this socket may not stay; the session is read anew, so a log-out elsewhere counts."""
        key = getattr(self.scope.get("session"), "session_key", None)
        if not key:
            return LOGGED_OUT
        request: Any = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        user = get_user(request)
        if not user.is_authenticated:
            return LOGGED_OUT
        return None if may(user, VIEW) else FORBIDDEN
