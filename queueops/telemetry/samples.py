"""Open work and totals once a minute, kept for an hour: the earlier moment of a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.telemetry.batch import decoded, number
from queueops.telemetry.census import Census, census
from queueops.telemetry.ledger import Ledger, ledger

if TYPE_CHECKING:
    from queueops.rdb.client import Server

KEPT = 60
EVERY = 60.0
"""Seconds between two samples."""


@dataclass(frozen=True, slots=True)
class Balance:
    """The ledgers of all queues from ``since`` to ``at`` (µs); empty when there is no sample yet."""

    since: int | None
    at: int
    rows: tuple[Ledger, ...]


def sample_of(moment: Census) -> dict[str, Any]:
    """A census as it is kept: per queue the open jobs and the totals."""
    return {"at": moment.at, "queues": {q.name: [q.open.total, dict(q.totals or {})] for q in moment.queues}}


def balance(server: Server, *, minutes: int = 10) -> Balance:
    """The ledgers since the sample of about ``minutes`` ago, or the oldest there is; four round trips."""
    index = min(max(minutes, 1), KEPT) - 1
    raw = server.connection.lrange(conf.keys.static("samples"), 0, index)
    now = census(server, totals=True)
    earlier = decoded(raw[-1]) if raw else {}
    queues = earlier.get("queues")
    if not isinstance(queues, dict):
        return Balance(None, now.at, ())
    rows = []
    for queue in now.queues:
        before, totals = queues.get(queue.name, [0, {}])
        rows.append(ledger(queue.name, before, queue.open.total, totals, queue.totals or {}))
    return Balance(number(earlier.get("at")), now.at, tuple(rows))
