"""Every second: one snapshot, stored and published for everybody."""

from __future__ import annotations

from typing import Any

from queueops.conf import conf
from queueops.monitor.duty import Context
from queueops.rdb.scripts import run
from queueops.telemetry.buckets import TenReader
from queueops.telemetry.events import SAMPLED
from queueops.telemetry.snapshot import STALE_AFTER, dumps, snapshot


def act(context: Context) -> dict[str, Any]:
    """Build, then show, unless another monitor leads by now."""
    tens = context.memory.setdefault("tens", TenReader(conf.keys, SAMPLED))
    made = dumps(snapshot(context.server, tens=tens, seq=context.lead.seq))
    shown = run(context.connection, "show", context.lead.token, int(STALE_AFTER * 1000), made)
    return {"bytes": len(made), "shown": bool(shown)}
