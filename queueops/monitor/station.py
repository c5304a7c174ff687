"""The monitor of one Redis server: three lanes, so that slow SQL never holds up the snapshot or the lease."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from django.db import close_old_connections, connections

from queueops.monitor.duty import UNREACHABLE, Context, Duty
from queueops.monitor.leader import Leadership
from queueops.rdb.client import Server

log = logging.getLogger("queueops.monitor")

BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds to wait after the first, second, … failure to reach Redis in a row."""
FOLLOW = 0.5
"""Seconds after which a lane looks again whether this process leads; costs no Redis call."""


class Station:
    """Runs the lanes of one server in threads until ``stop`` is set."""

    def __init__(self, server: Server, lanes: Sequence[Sequence[Duty]], stop: threading.Event) -> None:
        self.server = server
        self.lead = Leadership(server.connection)
        self._stop = stop
        self._context = Context(server, self.lead, stop)
        self._threads = [
            threading.Thread(target=self._run, args=(lane, number == 0), name=f"monitor-{server.alias}-{number}")
            for number, lane in enumerate(lanes)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self, timeout: float) -> bool:
        """Wait for the lanes to end, then resign; false when one did not end in time."""
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        try:
            self.lead.resign()
        except Exception as problem:  # the lease ends by itself
            log.debug("could not resign on %s: %s", self.server.alias, problem)
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, lane: Sequence[Duty], leading: bool) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                wait = self._round(lane, leading)
                if failures:
                    log.info("Redis %s answers again", self.server.alias)
                failures = 0
            except UNREACHABLE as problem:
                wait = BACKOFF[min(failures, len(BACKOFF) - 1)]
                if failures == 0:
                    log.warning("Redis %s does not answer: %s", self.server.alias, problem)
                failures += 1
            except Exception:
                # a lane never ends before it is told to
                log.exception("lane of %s", self.server.alias)
                wait = BACKOFF[-1]
            self._stop.wait(wait)
        connections.close_all()

    def _round(self, lane: Sequence[Duty], leading: bool) -> float:
        """Do what is due; the seconds until something is due again."""
        if leading:
            led, leads = self.lead.held, self.lead.seek()
            if leads and not led:
                log.info("leading on %s", self.server.alias)
        if not self.lead.held:
            return 1.0 if leading else FOLLOW
        for duty in lane:
            if self._stop.is_set() or not self.lead.held:
                break
            if time.monotonic() >= duty.due:
                close_old_connections()
                duty.perform(self._context)
        now = time.monotonic()
        rest = min((duty.due - now for duty in lane), default=1.0)
        return min(1.0 if leading else FOLLOW, max(0.01, rest))
