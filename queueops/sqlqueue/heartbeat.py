"""Keeps one lease alive while its message is worked on."""

from __future__ import annotations

import logging
import threading
import time

from django.db import DatabaseError, connections

from queueops.sqlqueue.errors import LeaseLost, SQLQueueError
from queueops.sqlqueue.message import Message

log = logging.getLogger("queueops.sqlqueue")


class Heartbeat:
    """A thread that extends the lease every third of it, for at most ``most`` seconds: work that hangs is given up.

    It has a connection of its own. When it learns that the lease is lost, it sets ``message.lost`` and ends.
    """

    def __init__(self, message: Message, lease: float, most: float) -> None:
        self.message, self.lease, self.most = message, lease, most
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease of {message.id}", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._end.set()
        self._thread.join()

    def _beat(self) -> None:
        until = time.monotonic() + self.most
        try:
            while not self._end.wait(self.lease / 3):
                if time.monotonic() > until:
                    log.warning(
                        "message %s: worked on for over %g s, its lease is left to end", self.message.id, self.most
                    )
                    return
                try:
                    self.message.extend(self.lease)
                except LeaseLost:
                    return
                except (DatabaseError, SQLQueueError) as error:
                    # tried again at the next beat: the lease outlasts two that fail
                    log.warning("message %s: its lease could not be extended: %s", self.message.id, error)
        finally:
            connections[self.message.queue.using].close()
