"""One Redis subscription per server and web process; each message goes to every socket of the process.

A thread waits for messages, since a blocking read works behind every kind of connection (TLS, Sentinel, unix socket).
A socket holds only the newest snapshot: it is a state, not a log, so a slow reader skips what it was too slow for.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from dataclasses import dataclass, field

from redis.exceptions import RedisError

from queueops.conf import conf
from queueops.rdb.client import Server, servers

logger = logging.getLogger("queueops.dashboard")

RETRY = 1.0
SILENCE = 15.0
"""Seconds without a message after which the subscription is made anew."""
LINGER = 10.0
"""Seconds for which the subscriptions outlive the last socket: a page change reconnects at once."""


@dataclass(eq=False, slots=True)
class Mailbox:
    """What one socket has yet to send: the newest message of each server. ``wake`` belongs to ``loop``."""

    loop: asyncio.AbstractEventLoop
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    newest: dict[str, tuple[str, float]] = field(default_factory=dict)
    skipped: int = 0

    def put(self, alias: str, message: str, at: float) -> None:
        """Called in the socket's loop."""
        self.skipped += alias in self.newest
        self.newest[alias] = (message, at)
        self.wake.set()

    def take(self) -> dict[str, tuple[str, float]]:
        self.wake.clear()
        taken, self.newest = self.newest, {}
        return taken


class Hub:
    """The mailboxes of this process and the threads that fill them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: set[Mailbox] = set()
        self._threads: dict[str, threading.Thread] = {}
        self._newest: dict[str, tuple[str, float]] = {}
        self._empty_since = 0.0

    def __len__(self) -> int:
        return len(self._boxes)

    def join(self, box: Mailbox) -> None:
        """Start to receive; the newest snapshot known comes at once."""
        with self._lock:
            self._boxes.add(box)
            for alias, (message, at) in self._newest.items():
                box.put(alias, message, at)
            for server in servers():
                if server.alias not in self._threads:
                    thread = threading.Thread(
                        target=self._listen, args=(server,), name=f"queueops-live-{server.alias}", daemon=True
                    )
                    self._threads[server.alias] = thread
                    thread.start()

    def leave(self, box: Mailbox) -> None:
        with self._lock:
            self._boxes.discard(box)
            if not self._boxes:
                self._empty_since = time.monotonic()

    def _idle(self, alias: str) -> bool:
        """True, and the thread is forgotten, when no socket has been open for a while."""
        with self._lock:
            if self._boxes or time.monotonic() - self._empty_since < LINGER:
                return False
            self._threads.pop(alias, None)
            self._newest.pop(alias, None)
            return True

    def _listen(self, server: Server) -> None:
        channel = conf.keys.static("snapshot_channel")
        while not self._idle(server.alias):
            subscription = server.connection.pubsub(ignore_subscribe_messages=True)
            try:
                subscription.subscribe(channel)
                heard = time.monotonic()
                # a monitor speaks every second: a longer silence may be a connection that died without a word
                while time.monotonic() - heard < SILENCE and not self._idle(server.alias):
                    message = subscription.get_message(timeout=1.0)
                    if message is not None and message["type"] == "message":
                        heard = time.monotonic()
                        self._deliver(server.alias, message["data"])
            except (RedisError, OSError):
                logger.debug("no subscription on %s", server.alias, exc_info=True)
                time.sleep(RETRY)
            finally:
                subscription.close()

    def _deliver(self, alias: str, data: bytes) -> None:
        message = digest(data)
        if message is None:
            return
        at = time.monotonic()
        with self._lock:
            self._newest[alias] = (message, at)
            loops: dict[asyncio.AbstractEventLoop, list[Mailbox]] = {}
            for box in self._boxes:
                loops.setdefault(box.loop, []).append(box)
        for loop, boxes in loops.items():
            try:
                loop.call_soon_threadsafe(_put, boxes, alias, message, at)
            except RuntimeError:  # the loop is closed: the sockets are gone
                for box in boxes:
                    self.leave(box)


def _put(boxes: list[Mailbox], alias: str, message: str, at: float) -> None:
    for box in boxes:
        box.put(alias, message, at)


def digest(data: bytes) -> str | None:
    """What a browser needs to know of a snapshot: that there is one, and its level. Tables are fetched as partials.

    An open JSON object: each socket adds the age that the message has when it is sent (:func:`closed`).
    """
    try:
        snapshot = json.loads(data)
    except ValueError:
        return None
    if not isinstance(snapshot, dict):
        return None
    told = {"t": "snapshot", "seq": snapshot.get("seq"), "at": snapshot.get("at"), "level": snapshot.get("level")}
    return json.dumps(told)[:-1]


def closed(message: str, at: float) -> str:
    """The message of a :func:`digest` that came ``at``, as it is sent now."""
    return f'{message}, "age": {round((time.monotonic() - at) * 1000)}}}'


hub = Hub()
