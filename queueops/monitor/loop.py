"""``run()``: the monitor process. SIGTERM and SIGINT end it cleanly; a killed one is replaced when its lease ends."""

from __future__ import annotations

import logging
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from queueops.monitor.schedule import lanes
from queueops.monitor.station import Station
from queueops.rdb.client import servers

log = logging.getLogger("queueops.monitor")

STOP_WITHIN = 10.0
"""Seconds that the lanes get to finish what they are at."""


def run(stop: threading.Event | None = None) -> int:
    """Monitor every server of the settings until told to stop; the exit code.

    In the main thread it listens to SIGTERM and SIGINT; elsewhere (and in tests) ``stop`` ends it.
    """
    stop = stop or threading.Event()
    stations = [Station(server, lanes(), stop) for server in servers()]
    # heard before anything runs: one that leads can be told to end
    with _signals(threading.current_thread() is threading.main_thread()) as heard:
        for station in stations:
            station.start()
        log.info("monitor watches %s", ", ".join(station.server.alias for station in stations) or "nothing")
        while not stop.is_set() and not heard(1.0):
            pass
    stop.set()
    ended = [station.join(STOP_WITHIN) for station in stations]
    log.info("monitor has stopped")
    return 0 if all(ended) else 1


@contextmanager
def _signals(listen: bool) -> Iterator[Callable[[float], bool]]:
    """Has SIGTERM or SIGINT come within so many seconds? A socket carries it: a handler must not touch a lock that is
    held. ``listen`` False: none is heard.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT) if listen else ():
            before[number] = signal.signal(number, lambda *_: writer.send(b"."))
        yield lambda seconds: bool(select.select([reader], [], [], seconds)[0])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        reader.close()
        writer.close()
