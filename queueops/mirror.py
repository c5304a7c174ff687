"""Writes what people set (SQL is its truth) to a Redis server, in one step, with the epoch that says "complete".

A claim on a Redis without the epoch (emptied, or a new primary) is refused until this has run.
"""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import connections, router, transaction

from queueops.models import Isolation, Override, Pause
from queueops.rdb.client import Server
from queueops.rdb.scripts import SCHEMA, run

ACTIVE = ("applying", "in_force")


def _micros(at: datetime | None) -> int:
    return int(at.timestamp() * 1_000_000) if at else 0


def _entry(row: Any, **more: Any) -> str:
    return json.dumps(
        {
            "until": _micros(row.until),
            "by": row.actor,
            "reason": row.reason,
            "id": str(row.pk),
            "at": _micros(row.created),
            **more,
        }
    )


def rebuild(server: Server) -> int:
    """Rebuild the mirror of one server from SQL; the number of fields written."""
    using = router.db_for_read(Pause)
    # in a caller's transaction, a query that fails must not take that along
    with transaction.atomic(using) if connections[using].in_atomic_block else nullcontext():
        # an end that has passed is judged by the scripts, on the store's clock
        paused = {
            "all" if row.kind == "all" else f"{row.kind[0]}:{row.name}": _entry(row)
            for row in Pause.objects.filter(state__in=ACTIVE)
        }
        isolated = {f"{row.kind[0]}:{row.name}": _entry(row) for row in Isolation.objects.filter(state__in=ACTIVE)}
        overrides = {row.control: _entry(row, limit=row.limit) for row in Override.objects.filter(state__in=ACTIVE)}
    epoch = f"{int(time.time())}-{uuid4().hex[:8]}"
    return int(
        run(
            server.connection,
            "mirror",
            epoch,
            SCHEMA,
            json.dumps(paused),
            json.dumps(isolated),
            json.dumps(overrides),
        )
    )
