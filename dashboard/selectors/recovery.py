"""What is known of a queue for the question whether it has recovered. Two queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dashboard.selectors.snapshot_data import QueueRow, Restraint
from queueops.diagnosis.recovery import Recovery, View, judge
from queueops.telemetry.history import points
from queueops.telemetry.ledger import Ledger

LATELY = 60
"""Minutes read; those before the last ten are the usual of a queue that has no hours yet."""
DAY = 24
LEAST = 3
"""Hours that show what is usual."""


def of(
    server: str, row: QueueRow, functions: Collection[str], banner: Sequence[Restraint], ledger: Ledger | None, now: int
) -> Recovery:
    """``now`` in µs, by the clock of Redis."""
    minute, hour = now // 60_000_000 * 60, now // 3_600_000_000 * 3600
    minutes = points(server, row.name, minute - LATELY * 60, minute)
    for _ in range(2):  # the newest are written a few seconds after they are over
        if minutes and minutes[-1] is None:
            minutes.pop()
    hours = [point for point in points(server, row.name, hour - DAY * 3600, hour - 3600, width=3600) if point]
    return judge(
        View(
            minutes=minutes,
            usual=hours if len(hours) >= LEAST else minutes[:-10],
            waiting=row.waiting,
            oldest_age=row.oldest_age,
            max_age=row.max_age,
            quarantined=row.quarantined,
            restraints=sum(_holds_back(item, row.name, functions) for item in banner),
            ledger=ledger,
        )
    )


def _holds_back(item: Restraint, queue: str, functions: Collection[str]) -> bool:
    """May it concern this queue? Of a limit, a key or an error nobody knows whose jobs it meets."""
    prefix, _, name = item.target.partition(":")
    if item.kind in ("pause", "isolate") and prefix in ("q", "f"):
        return name == queue if prefix == "q" else name in functions
    return True
