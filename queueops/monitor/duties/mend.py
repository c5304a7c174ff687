"""Keys of ours that hold another type are set aside before a door meets them."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.rdb import mending


def act(context: Context) -> dict[str, Any]:
    """Those without a name, of every queue, and of what running jobs hold; others when a door meets them."""
    return {"set_aside": mending.mend(context.connection, queues=context.server.queues)}
