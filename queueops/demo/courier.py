"""The outside world of the shop, as a small HTTP server: a courier, an invoice printer and the suppliers' price lists.

It is slow or failing by the clock (:data:`PHASES`), so that the jobs which call it meet what real ones meet.

| request | answer |
|---|---|
| ``POST /labels`` ``{"order", "street", "parcels"}`` | 200 ``{"label"}``; 422 without a street; 503 when busy |
| ``POST /print`` ``{"invoice"}`` | 200; 503 while the printer has no paper |
| ``GET /prices/<supplier>`` | CSV ``book,cents`` with the number of lines in ``X-Lines``; ``tortoise`` sends slowly |
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from queueops.demo import paths, store

PHASES = ((20, "normal"), (30, "slow"), (30, "normal"), (20, "failing"), (80, "normal"))
"""Seconds and mood of the courier, in a circle of three minutes."""
LATENCY = {"normal": 0.08, "slow": 1.2, "failing": 0.02}
"""Seconds until the courier answers."""
PRINTER_OFF = 30
PRINTER_CYCLE = 600
"""The printer is without paper for the first ``PRINTER_OFF`` seconds of each ``PRINTER_CYCLE``."""
LINE_EVERY = {"tortoise": 0.2}
"""Seconds between two lines of a supplier's price list; the others send theirs at once."""


def phase_at(second: float) -> str:
    """The mood of the courier, ``second`` seconds after it opened."""
    second %= sum(length for length, _ in PHASES)
    for length, mood in PHASES:
        if second < length:
            return mood
        second -= length
    return PHASES[-1][1]


def address_file() -> Path:
    return paths.home() / "courier.address"


class Courier(ThreadingHTTPServer):
    """Listens on a free local port and writes its address where the jobs look for it."""

    daemon_threads = True

    def __init__(self, seed: int = 1) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self.opened = time.monotonic()
        self.closing = threading.Event()
        self.chance = Random(seed)

    @property
    def age(self) -> float:
        """Seconds since it opened."""
        return time.monotonic() - self.opened

    def open(self) -> None:
        """Serve in a thread of this process until :meth:`close`."""
        paths.write_whole(address_file(), self.address)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.5}, name="courier", daemon=True).start()

    def close(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away (a killed worker, a timeout) is no news here."""


class Handler(BaseHTTPRequestHandler):
    server: Courier
    timeout = 10

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        match self.path:
            case "/labels":
                self.label(body)
            case "/print":
                offline = self.server.age % PRINTER_CYCLE < PRINTER_OFF
                self.answer(503, {"error": "out of paper"}) if offline else self.answer(200, {})
            case _:
                self.answer(404, {"error": "no such service"})

    def label(self, body: dict[str, Any]) -> None:
        mood = phase_at(self.server.age)
        self.server.closing.wait(LATENCY[mood])
        if mood == "failing" and self.server.chance.random() < 0.6:
            self.answer(503, {"error": "too many parcels, come back later"})
        elif not body.get("street"):
            self.answer(422, {"error": "street is empty"})
        else:
            self.answer(200, {"label": f"L-{body.get('order')}"})

    def do_GET(self) -> None:
        supplier = self.path.removeprefix("/prices/")
        if supplier not in store.SUPPLIERS:
            self.answer(404, {"error": "no such supplier"})
            return
        books = store.books_of(supplier)
        self.send_response(200)
        self.send_header("Content-Type", "text/csv")
        self.send_header("X-Lines", str(len(books)))
        self.end_headers()
        if supplier == "birch" and phase_at(self.server.age) != "normal":
            books = books[: len(books) // 2]  # the same line as the courier's: it drops half way
        for book in books:
            self.wfile.write(f"{book},{self.server.chance.randrange(800, 4_000, 50)}\n".encode())
            if self.server.closing.wait(LINE_EVERY.get(supplier, 0)):
                return

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the jobs tell what they met."""
