"""The web server's process: uvicorn on a socket that its parent has bound.

The parent keeps the socket, so a taken port is known before anything starts, and a restart refuses no connection.
"""

from __future__ import annotations

import argparse
import gc
import os
import socket
from typing import Any

import uvicorn


def settle_down() -> None:
    """What is loaded by now stays: garbage collections need not look at it again, which takes tens of ms each time."""
    gc.collect()
    gc.freeze()


class Server(uvicorn.Server):
    """Tells its parent, through a pipe, that it answers now."""

    def __init__(self, config: uvicorn.Config, ready: int) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            settle_down()
            os.write(self.ready, b".")


def main() -> None:
    parser = argparse.ArgumentParser(prog="queueops.supervise.web")
    parser.add_argument("application", help="module:attribute of the ASGI application")
    parser.add_argument("--fd", type=int, required=True, help="a bound socket")
    parser.add_argument("--ready", type=int, required=True, help="a pipe to write to once it answers")
    given = parser.parse_args()
    options: dict[str, Any] = {
        "log_level": "warning",
        "lifespan": "off",
        "ws": "websockets-sansio",
        "timeout_graceful_shutdown": 3,  # web sockets stay open for ever otherwise
        "server_header": False,
    }
    server = Server(uvicorn.Config(given.application, **options), given.ready)
    server.run(sockets=[socket.socket(fileno=given.fd)])


if __name__ == "__main__":
    main()
