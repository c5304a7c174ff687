"""What the primitives share: a control, one instance of it, and the server that keeps it."""

from __future__ import annotations

import os
import socket
import uuid
from typing import Any

from queueops.primitives.claim import Claim, Control, instance_and_text, micros
from queueops.primitives.errors import DeclarationError
from queueops.rdb.client import default_server

_HOST = socket.gethostname()


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

    def __repr__(self) -> str:
        return f"<{self.called}{f' key={self.key!r}' if self.key else ''}>"


def checked_token(called: str, token: object) -> str:
    """``token`` if it is a text that can prove ownership."""
    if not isinstance(token, str) or not token or len(token) > 200 or not token.isprintable():
        raise DeclarationError(f"{called}: token must be a printable text of 1 to 200 characters, not {token!r}")
    return token
