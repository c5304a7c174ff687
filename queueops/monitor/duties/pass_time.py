"""Every second: ended leases, room in lines, due jobs; for queues that no worker serves now."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.rdb.doors import tick


def act(context: Context) -> dict[str, Any]:
    """One bounded call; a long backlog of due things takes several seconds."""
    leases, lines, moved, parked = tick(context.server)
    return {"leases": leases, "lines": lines, "moved": moved, "parked": parked}
