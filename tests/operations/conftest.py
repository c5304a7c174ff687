from __future__ import annotations

from typing import Any

import pytest

from queueops.rdb.client import Server, default_server
from tests.scripts.kit import Doors


@pytest.fixture
def server(redis: Any, db: None) -> Server:
    """The server of the settings, empty; SQL is there too."""
    return default_server()


@pytest.fixture
def doors(server: Server) -> Doors:
    return Doors(server.connection)


@pytest.fixture
def who() -> dict[str, str]:
    return {"actor": "ann", "reason": "because"}
