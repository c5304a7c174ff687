"""Every second: one snapshot, stored and published for everybody."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.rdb.scripts import run
from queueops.telemetry.snapshot import STALE_AFTER, dumps, new_memory, snapshot


def act(context: Context) -> dict[str, Any]:
    """Build, then show, unless another monitor leads by now."""
    if "observer" not in context.memory:
        context.memory["observer"] = new_memory()
    made = dumps(snapshot(context.server, memory=context.memory["observer"], seq=context.lead.seq))
    shown = run(context.connection, "show", context.lead.token, int(STALE_AFTER * 1000), made)
    return {"bytes": len(made), "shown": bool(shown)}
