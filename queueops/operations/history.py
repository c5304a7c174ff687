"""Minutes and hours of all queues in SQL: written by the monitor, each once, kept for as long as the settings say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db import connections, router
from django.db.models import Max

from queueops.models import Rollup
from queueops.operations.text import MAX_NAME, cleaned
from queueops.rdb.client import Server
from queueops.telemetry import minutes
from queueops.telemetry.buckets import MINUTE_KEPT
from queueops.telemetry.census import census
from queueops.telemetry.minutes import Functions, Tally

SETTLED = 5
"""Seconds after its end from which a minute is written: a script that began in it has ended by then."""
BATCH = 20
"""Minutes read at a time."""
HOUR = 3_600


def roll_up(server: Server, go_on: Callable[[], bool] = lambda: True) -> int:
    """Write the minutes that are over and not yet written, then the hours. Returns how many minutes. A minute written
    twice, by two monitors, is the same minute.
    """
    newest, since = minutes.last_whole(server, SETTLED)
    done = _newest(server, 60)
    first = max(newest - MINUTE_KEPT + 120, 0 if done is None else done + 60)
    todo = [start for start in range(first, newest + 60, 60) if minutes.known(start, since)]
    for at in range(0, len(todo), BATCH):
        if not go_on():
            return at
        part = todo[at : at + BATCH]
        found = minutes.read(server, part)
        gauges = _gauges(server) if part[-1] == newest else {}
        for start in part:
            _write(server, 60, start, found[start], gauges if start == newest else {})
    _hours(server, newest + 60, go_on)
    return len(todo)


def _newest(server: Server, width: int) -> int | None:
    found = Rollup.objects.filter(width=width, server=server.alias, queue="").aggregate(at=Max("start"))
    at: int | None = found["at"]
    return at


def _gauges(server: Server) -> dict[str, dict[str, Any]]:
    """Of the queues that hold something now, and of all together under ``""``."""
    found: dict[str, dict[str, Any]] = {
        queue.name: {
            "open": queue.open.total,
            "waiting": queue.open.waiting,
            "held": queue.held.failed + queue.held.quarantined,
            "oldest_age": queue.oldest_age,
        }
        for queue in census(server).queues
        if queue.open.total or queue.held.failed or queue.held.quarantined
    }
    ages = [gauge["oldest_age"] for gauge in found.values() if gauge["oldest_age"] is not None]
    every = {name: sum(gauge[name] for gauge in found.values()) for name in ("open", "waiting", "held")}
    return {**found, "": {**every, "oldest_age": max(ages, default=None)}}


def _write(
    server: Server, width: int, start: int, found: Functions, gauges: dict[str, dict[str, Any]], known: int = 1
) -> None:
    """``known`` minutes of the bucket are known. The row that says so comes last: without it all is written again."""
    rows, every = [], Tally()
    for queue in sorted({*found, *gauges} - {""}):
        whole = Tally()
        functions = {cleaned(name, MAX_NAME): tally.as_json() for name, tally in found.get(queue, {}).items()}
        for told in functions.values():
            whole.merge(told)
        rows.append(_row(server, width, start, queue, whole.counts, functions, gauges.get(queue, {})))
        every.merge(whole.as_json())
    sums = {"": every.as_json()} if every.counts else {}
    rows.append(_row(server, width, start, "", {**every.counts, "minutes": known}, sums, gauges.get("", {})))
    _upsert(rows)


def _row(server: Server, width: int, start: int, queue: str, counts: Any, functions: Any, gauges: Any) -> Rollup:
    return Rollup(
        width=width,
        start=start,
        server=server.alias,
        queue=cleaned(queue, 255),
        counts=counts,
        functions=functions,
        gauges=gauges,
    )


def _upsert(rows: Iterable[Rollup]) -> None:
    # MySQL finds the constraint by itself and refuses to be told
    told = connections[router.db_for_write(Rollup)].features.supports_update_conflicts_with_target
    Rollup.objects.bulk_create(
        rows,
        batch_size=100,
        update_conflicts=True,
        unique_fields=["width", "server", "queue", "start"] if told else None,
        update_fields=["counts", "functions", "gauges"],
    )


def _hours(server: Server, until: int, go_on: Callable[[], bool]) -> None:
    """Hours whose minutes are all over; from the minutes in SQL, so that no Redis is needed for them."""
    done = _newest(server, HOUR)
    of_minutes = Rollup.objects.filter(width=60, server=server.alias)
    oldest = of_minutes.filter(queue="").order_by("start").values_list("start", flat=True).first()
    if oldest is None:
        return
    for start in range(oldest // HOUR * HOUR if done is None else done + HOUR, until - HOUR + 1, HOUR):
        if not go_on():
            return
        found: Functions = {}
        gauges: dict[str, dict[str, Any]] = {}
        known = 0
        for row in of_minutes.filter(start__gte=start, start__lt=start + HOUR).order_by("start").iterator(500):
            known += row.queue == ""
            for name, told in row.functions.items():
                found.setdefault(row.queue, {}).setdefault(name, Tally()).merge(told)
            if row.gauges:
                gauges[row.queue] = _worst(gauges.get(row.queue), row.gauges)
        if known:
            _write(server, HOUR, start, found, gauges, known)


def _worst(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """Of an hour the highest of each gauge is kept: a peak is what people look for."""
    if before is None:
        return now
    names = {*before, *now}
    return {name: max((v for v in (before.get(name), now.get(name)) if v is not None), default=None) for name in names}
