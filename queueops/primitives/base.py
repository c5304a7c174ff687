"""What the primitives share: a control, one instance of it, and the server that keeps it."""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from typing import Any

from redis.exceptions import RedisError

from queueops.primitives.claim import Claim, Control, instance_and_text, micros
from queueops.primitives.errors import DeclarationError
from queueops.rdb import scripts
from queueops.rdb.client import Server, default_server

logger = logging.getLogger("queueops.primitives")

BLIND = 5.0
"""Seconds until a process that could not read the operators' settings tries again."""

_HOST = socket.gethostname()
_blind_until = 0.0


def new_token() -> str:
    """A token for one acquisition: random, never a host, process or job id."""
    return uuid.uuid4().hex


def owner() -> str:
    """Who asks, for the changelog: host and process."""
    return f"{_HOST}:{os.getpid()}"


class Primitive:
    """One instance (a control and a key) of a lock, semaphore or rate. Cheap to make; keeps no connection state.

    It shares limits, holders and pages with a job's control of the same kind, name and key.
    """

    def __init__(self, called: str, control: Control, key: str, connection: Any | None) -> None:
        if not isinstance(key, str):
            raise DeclarationError(f"{called}: key must be text, not {key!r}")
        self.called = called
        self.control = control
        self.key = key
        self.instance, text = instance_and_text(control.kind, control.name, key)
        self._connection = connection
        self._claim = Claim(
            instance=self.instance,
            control=control.id,
            limit=control.limit,
            per=micros(control.per),
            strategy=control.strategy,
            burst=control.burst,
            text=text,
        )
        self._claim_text = self._claim.encoded()

    @property
    def connection(self) -> Any:
        """The Redis client: the one given, else that of the first queue in ``RQ_QUEUES``."""
        if self._connection is None:
            self._connection = default_server().connection
        return self._connection

    def _run(self, script: str, *args: Any) -> Any:
        """Run a script; on a Redis that lost the operators' settings, mirror them first.

        A process that cannot read them goes on with the declared limits, and tries again after a while.
        """
        global _blind_until
        blind = time.monotonic() < _blind_until
        try:
            return scripts.run(self.connection, script, *args, int(blind), instances=(self.instance,))
        except scripts.ScriptError as error:
            if error.code != "MIRROR_MISSING":
                raise
        try:
            from queueops import mirror  # it needs the models, which may come later than this module

            mirror.rebuild(Server("", self.connection))
        except RedisError:
            raise
        except Exception:
            logger.warning("%s: the operators' limits cannot be read and are not in force here", self, exc_info=True)
            _blind_until = time.monotonic() + BLIND
        return scripts.run(self.connection, script, *args, 1, instances=(self.instance,))

    def __repr__(self) -> str:
        return f"<{self.called}{f' key={self.key!r}' if self.key else ''}>"


def checked_token(called: str, token: object) -> str:
    """``token`` if it is a text that can prove ownership."""
    if not isinstance(token, str) or not token or len(token) > 200 or not token.isprintable():
        raise DeclarationError(f"{called}: token must be a printable text of 1 to 200 characters, not {token!r}")
    return token
