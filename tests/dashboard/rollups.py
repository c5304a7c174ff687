"""Roll-ups as the monitor writes them, for pages that look back."""

from __future__ import annotations

from typing import Any

from queueops.models import Rollup
from queueops.rdb.client import default_server

FUNCTION = "shop.jobs.mail"


def rolled_up(queue: str, first: int, minutes: int, gap: range = range(0), *, width: int = 60, **counts: int) -> None:
    """``minutes`` buckets from ``first`` (epoch seconds) on, those of ``gap`` left out."""
    alias = default_server().alias
    n = {"accepted": 6, "completed": 4, "retried": 1, **counts}
    told: dict[str, Any] = {"n": n, "w": {"40": 4}, "r": {"28": 4}, "wt": 4_000_000, "rt": 400_000}
    rows = []
    for place in range(minutes):
        if place in gap:
            continue
        start = first // width * width + place * width
        gauges = {"open": place + 1, "waiting": place, "held": 0, "oldest_age": place * 2.0}
        for name, counted, functions in ((queue, n, {FUNCTION: told}), ("", {**n, "minutes": 1}, {})):
            row = {"counts": counted, "functions": functions, "gauges": gauges}
            rows.append(Rollup(width=width, start=start, server=alias, queue=name, **row))
    Rollup.objects.bulk_create(rows)
