"""A web socket of the ASGI application without a network."""

from __future__ import annotations

from typing import Any

from asgiref.testing import ApplicationCommunicator

from queueops.project.asgi import application


class Socket(ApplicationCommunicator):
    """Connects as a browser does, with a cookie and an origin."""

    def __init__(self, jar: bytes | None = None, origin: bytes = b"http://localhost") -> None:
        headers = [(b"origin", origin), (b"host", b"localhost")] + ([(b"cookie", jar)] if jar else [])
        scope = {"type": "websocket", "path": "/ws/live/", "query_string": b"", "headers": headers, "subprotocols": []}
        super().__init__(application, scope)

    async def connect(self) -> bool:
        """True when the server accepted."""
        await self.send_input({"type": "websocket.connect"})
        answer: dict[str, Any] = await self.receive_output(timeout=5)
        return answer["type"] == "websocket.accept"

    async def tell(self, text: str) -> None:
        await self.send_input({"type": "websocket.receive", "text": text})

    async def text(self) -> str:
        answer: dict[str, Any] = await self.receive_output(timeout=5)
        assert answer["type"] == "websocket.send", answer
        return str(answer["text"])

    async def disconnect(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(timeout=5)
