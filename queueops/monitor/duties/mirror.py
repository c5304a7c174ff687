"""When the epoch is missing (Redis was emptied, or is a new primary): write what people set from SQL."""

from __future__ import annotations

from typing import Any

from queueops.conf import conf
from queueops.mirror import rebuild
from queueops.monitor.duty import Context


def act(context: Context) -> dict[str, Any] | None:
    """Rebuild if needed; workers do the same when they meet the missing epoch first."""
    if context.connection.exists(conf.keys.static("epoch")):
        return None
    return {"rebuilt": rebuild(context.server)}
