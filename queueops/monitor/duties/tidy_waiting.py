"""Stale heads of the index of waiting jobs: a job deleted or run behind our back would look like the oldest."""

from __future__ import annotations

import json
from typing import Any

from queueops.conf import conf
from queueops.monitor.duty import Context
from queueops.rdb.scripts import run
from queueops.telemetry.batch import Batch
from queueops.telemetry.discovery import QueueSearch

HEADS = 20
QUEUES = 50
"""Queues per call: at most 1,000 heads, so no call is long."""


def act(context: Context) -> dict[str, Any]:
    """Look at the first heads of every queue; what remains stale is found the next time."""
    batch = Batch(context.connection)
    search = QueueSearch(batch, conf.keys, context.server.queues)
    batch.run()
    names, looked, removed = search.result().names, 0, 0
    for start in range(0, len(names), QUEUES):
        if not context.may_go_on:
            break
        one, two = run(context.connection, "tidy_waiting", HEADS, json.dumps(names[start : start + QUEUES]))
        looked, removed = looked + one, removed + two
    return {"checked": looked, "removed": removed}
