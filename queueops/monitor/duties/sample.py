"""Every minute: open work and totals of every queue, so that the ledger has an earlier moment."""

from __future__ import annotations

import json
from typing import Any

from queueops.conf import conf
from queueops.monitor.duty import Context
from queueops.telemetry.batch import Batch
from queueops.telemetry.census import census
from queueops.telemetry.samples import KEPT, sample_of


def act(context: Context) -> dict[str, Any]:
    """Keep one more, drop the oldest."""
    made = json.dumps(sample_of(census(context.server, totals=True)), separators=(",", ":"))
    key, batch = conf.keys.static("samples"), Batch(context.connection, atomic=True)
    batch.call("lpush", key, made)
    batch.call("ltrim", key, 0, KEPT - 1)
    batch.run()
    return {"bytes": len(made)}
