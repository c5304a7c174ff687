"""Leadership among the monitors of a server: a lease with a token, so that a killed leader is replaced by itself."""

from __future__ import annotations

import os
import socket
import time
from typing import Any
from uuid import uuid4

from queueops.rdb.scripts import run

LENGTH = 5.0
"""Seconds that the lease lasts without renewal."""
MARGIN = 0.5
"""Seconds before the end in which a leader no longer counts on its lease."""


class Leadership:
    """The wish to lead one server. :meth:`seek` takes or extends the lease; :attr:`held` needs no Redis."""

    def __init__(self, connection: Any) -> None:
        # host and process are for people; the rest makes it unique
        self.token = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
        self.seq = 0
        self._connection = connection
        self._ends = 0.0

    def seek(self) -> bool:
        """Take or extend the lease; errors of Redis are the caller's, and end the lease by time."""
        asked = time.monotonic()
        leads, seq = run(self._connection, "lead", self.token, int(LENGTH * 1000))
        if leads:
            self._ends, self.seq = asked + LENGTH - MARGIN, int(seq)
        else:
            self._ends = 0.0
        return bool(leads)

    @property
    def held(self) -> bool:
        """Is the lease certainly ours now? Measured from before it was asked for."""
        return time.monotonic() < self._ends

    def resign(self) -> None:
        """Give the lease up, so that a successor need not wait for its end."""
        self._ends = 0.0
        run(self._connection, "lead", self.token, 0)
