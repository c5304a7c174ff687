"""A proxy before a Redis server that loses answers (the server has acted, its client never learns) or requests."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import Any

import redis as redis_py
from redis.backoff import ConstantBackoff
from redis.retry import Retry


class Cutter:
    """Counts the answers and requests that pass; closes the connection instead of passing on number ``cut`` (from 1)
    of the answers, or ``stop`` of the requests and all after it, as if the client had died before it.
    """

    def __init__(self, server_url: str, path: Path) -> None:
        self.path, self.cut, self.answers, self.stop, self.requests = path, 0, 0, 0, 0
        self._server = server_url.removeprefix("unix://").partition("?")[0]
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(50)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"unix://{self.path}?db=0"

    def client(self, resend: bool) -> Any:
        """A client through the proxy; ``resend``: as redis-py does by default, it sends a call again after an error."""
        retry = Retry(ConstantBackoff(0.01), 3 if resend else 0)
        return redis_py.Redis.from_url(self.url, retry=retry, driver_info=None)

    def arm(self, cut: int = 0, stop: int = 0) -> None:
        with self._lock:
            self.cut, self.stop, self.answers, self.requests = cut, stop, 0, 0

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), client, server:
            while data := client.recv(1 << 20):
                with self._lock:
                    self.requests += 1
                    dead = 0 < self.stop <= self.requests
                if dead:
                    break
                server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), client, server:
            while data := server.recv(1 << 20):
                with self._lock:
                    self.answers += 1
                    lost = self.answers == self.cut
                if lost:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
