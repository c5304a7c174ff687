"""Lock and Semaphore: take, renew, give back, wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import RedisError

from queueops.conf import conf
from queueops.primitives import options
from queueops.primitives.base import Primitive, checked_token, new_token, owner
from queueops.primitives.claim import micros
from queueops.primitives.definition import held_control
from queueops.primitives.errors import DeclarationError, NotAcquired
from queueops.primitives.options import YEAR
from queueops.rdb import scripts
from queueops.rdb.doors import wait_for_bell

logger = logging.getLogger("queueops.primitives")

_LOOK = 1.0
"""Longest time (s) between two looks of a waiting caller: also its sign of life."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A hold that ends by itself. ``until`` is the store's clock, seconds since 1970 (UTC)."""

    token: str
    until: float
    renewed: bool
    _source: Holding = field(repr=False, compare=False)

    def renew(self, ttl: float) -> Lease | None:
        """Hold on for ``ttl`` seconds from now. None when the lease had ended and somebody else is in."""
        return self._source.acquire(self.token, ttl)

    def release(self) -> bool:
        """Give back; False when it was not held any more."""
        return self._source.release(self.token)


class Holding(Primitive):
    """What Lock and Semaphore do. Every hold is a lease: a holder that dies is out when its ``ttl`` ends."""

    def acquire(self, token: str, ttl: float) -> Lease | None:
        """Hold a slot for ``ttl`` seconds, or None at once when there is no room.

        The same token again renews its hold and never takes a second slot. One round trip, whatever the answer.
        """
        lease, _, _ = self._try(checked_token(self.called, token), self._ttl(ttl), wait=False, since=0)
        return lease

    def release(self, token: str) -> bool:
        """Give back what ``token`` holds. False, and nothing changes, when it holds nothing (any more)."""
        return self._release(checked_token(self.called, token), gives_up=False)

    @contextmanager
    def hold(self, ttl: float, timeout: float = 0) -> Iterator[Lease]:
        """Hold a slot during a ``with`` block, for at most ``ttl`` seconds; ``lease.renew`` prolongs it.

        Waits up to ``timeout`` seconds in line with waiting jobs, oldest first; then raises ``NotAcquired``.
        """
        ttl = self._ttl(ttl)
        timeout = options.seconds(self.called, "timeout", timeout, most=YEAR, zero=True)
        token = new_token()
        lease = self._wait(token, ttl, timeout)
        try:
            yield lease
        finally:
            try:
                self._release(token, gives_up=False)
            except RedisError:
                # The block's own result stands; the lease ends by itself.
                logger.warning("%r could not be given back; it is free in at most %g s", self, ttl, exc_info=True)

    def _wait(self, token: str, ttl: float, timeout: float) -> Lease:
        give_up = time.monotonic() + timeout
        since = 0
        try:
            while True:
                left = give_up - time.monotonic()
                lease, next_end, since = self._try(token, ttl, wait=left > 0, since=since)
                if lease:
                    return lease
                if left <= 0:
                    raise NotAcquired(f"{self.called}: no room{f' within {timeout:g} s' if timeout else ''}", next_end)
                # An end of a lease rings nobody where no worker runs: look again then.
                pause = max(0.01, min(left, _LOOK, next_end + 0.001))
                wait_for_bell(self.connection, conf.keys.of("bell", token), pause)
        except BaseException:
            if since and timeout:
                self._give_up(token)
            raise

    def _try(self, token: str, ttl: float, *, wait: bool, since: int) -> tuple[Lease | None, float, int]:
        """``(lease or None, seconds until the next holder's lease ends, waiting since)``."""
        try:
            answer = self._run(
                "primitive_acquire",
                self.instance,
                self.control.id,
                self.control.limit,
                token,
                micros(ttl),
                int(wait),
                since,
                owner(),
                self._claim_text,
            )
        except scripts.ScriptError as error:
            if error.code == "TOKEN_OF_JOB":
                raise DeclarationError(f"{self.called}: {error.text}: make one of your own") from None
            raise
        if answer[0] == b"HELD":
            return Lease(token, int(answer[1]) / 1e6, answer[2] == 1, self), 0.0, 0
        return None, int(answer[1]) / 1e6, int(answer[2])

    def _release(self, token: str, *, gives_up: bool) -> bool:
        args = (self.instance, token, owner(), int(gives_up))
        return bool(scripts.run(self.connection, "primitive_release", *args, instances=(self.instance,)) == 1)

    def _give_up(self, token: str) -> None:
        try:
            self._release(token, gives_up=True)
        except RedisError:
            # Silent callers leave the line by themselves.
            logger.debug("%r: could not leave the line", self, exc_info=True)

    def _ttl(self, ttl: object) -> float:
        return options.seconds(self.called, "ttl", ttl, most=YEAR, least=0.001)


class Semaphore(Holding):
    """At most ``limit`` holders at a time, each with its own lease; shared with ``WithSemaphore(name, limit)``."""

    def __init__(self, name: str, limit: int, key: str = "", *, connection: Any | None = None) -> None:
        called = f"Semaphore({name!r})"
        options.name(called, name)
        super().__init__(called, held_control(called, "semaphore", name, limit), key, connection)


class Lock(Holding):
    """One holder at a time; shared with ``WithoutOverlapping(name)``."""

    def __init__(self, name: str, key: str = "", *, connection: Any | None = None) -> None:
        called = f"Lock({name!r})"
        options.name(called, name)
        super().__init__(called, held_control(called, "lock", name), key, connection)
