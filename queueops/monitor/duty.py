"""A duty: what the leading monitor does every so often. One that fails is named and does not stop the others."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from queueops.conf import conf
from queueops.monitor.leader import Leadership
from queueops.rdb.client import Server

log = logging.getLogger("queueops.monitor")

UNREACHABLE = (RedisConnectionError, RedisTimeoutError, ReadOnlyError)
"""Redis is down, loading, or read-only after a failover: nothing is wrong with the duty."""


@dataclass(slots=True)
class Context:
    """What a duty works with. ``memory`` is its own, kept while this process lives."""

    server: Server
    lead: Leadership
    stop: threading.Event
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def connection(self) -> Any:
        return self.server.connection

    @property
    def may_go_on(self) -> bool:
        """Asked between the pages of longer work."""
        return self.lead.held and not self.stop.is_set()


Act = Callable[[Context], dict[str, Any] | None]


@dataclass(slots=True)
class Duty:
    """``act`` every ``every`` seconds, at once if it answers ``again``; what it returns is shown with its state."""

    name: str
    every: float
    act: Act
    due: float = 0.0
    failures: int = 0
    context: Context | None = None

    def perform(self, shared: Context) -> None:
        """Run once and record how it went. Raises only when Redis is unreachable."""
        if self.context is None or self.context.server is not shared.server:
            self.context = Context(shared.server, shared.lead, shared.stop)
        begun, error, result = time.monotonic(), "", None
        self.due = begun + self.every
        try:
            result = self.act(self.context)
        except UNREACHABLE:
            raise
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"[:500]
            self.failures += 1
            if self.failures == 1 or self.failures % 100 == 0:
                log.exception("duty %s on %s failed (%d times in a row)", self.name, shared.server.alias, self.failures)
        else:
            if self.failures:
                log.info("duty %s on %s works again", self.name, shared.server.alias)
            self.failures = 0
        if result and result.pop("again", False):
            self.due = begun
        self._record(shared, round((time.monotonic() - begun) * 1000, 1), error, result or {})

    def _record(self, shared: Context, took: float, error: str, result: dict[str, Any]) -> None:
        seconds, micros = shared.connection.time()
        state = {"at": seconds * 1_000_000 + micros, "every": self.every, "took_ms": took, "error": error, **result}
        try:
            shared.connection.hset(conf.keys.static("monitor_state"), self.name, json.dumps(state, default=str))
        except UNREACHABLE:
            raise
        except RedisError as problem:
            # out of memory: the duty itself is done, and the pages say why its state is old
            log.warning("state of duty %s is not recorded: %s", self.name, problem)
