from __future__ import annotations

import threading
from typing import Any

import pytest

from queueops.conf import conf
from queueops.mirror import rebuild
from queueops.monitor.duty import Context
from queueops.monitor.leader import Leadership
from queueops.rdb.client import Server
from queueops.rdb.keys import Keys


@pytest.fixture
def keys() -> Keys:
    return conf.keys


@pytest.fixture
def context(redis: Any, transactional_db: None) -> Context:
    """A duty's context in a process that leads."""
    server = Server("test", redis, ())
    rebuild(server)
    lead = Leadership(redis)
    assert lead.seek()
    return Context(server, lead, threading.Event())
