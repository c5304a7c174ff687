"""A release whose first worker has started is marked on the charts."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.operations.deploys import note_releases


def act(context: Context) -> dict[str, Any]:
    """Those that are not marked yet."""
    return {"releases": note_releases(context.server)}
