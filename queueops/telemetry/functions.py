"""Per function of a queue: what it did in the last minutes, with percentiles of waiting and run time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import SEP
from queueops.telemetry.batch import Batch, number, shown
from queueops.telemetry.buckets import is_known
from queueops.telemetry.clock import US, from_time, known_since
from queueops.telemetry.events import PLUS
from queueops.telemetry.histograms import Histogram, from_fields

if TYPE_CHECKING:
    from queueops.rdb.client import Server

LOOKED = 2_000
"""Functions looked at, newest active first."""
MOST = 50
"""Functions read in full."""
MINUTES = 60


@dataclass(frozen=True, slots=True)
class FunctionStats:
    """One window of one function. ``counts`` by event; ``inflow`` and ``completed`` by minute, ``None`` is a gap."""

    queue: str
    function: str
    counts: Mapping[str, int]
    inflow: tuple[int | None, ...]
    completed: tuple[int | None, ...]
    waited: Histogram
    ran: Histogram

    @property
    def arrived(self) -> int:
        """Jobs that became open: accepted, replayed, requeued, moved in."""
        return sum(self.counts.get(event, 0) for event in PLUS)


@dataclass(frozen=True, slots=True)
class FunctionPage:
    """``matching`` functions were active since ``since`` (µs), ``rows`` are the newest active of them."""

    at: int
    since: int
    minutes: int
    rows: tuple[FunctionStats, ...]
    matching: int


def page(
    server: Server, *, queue: str | None = None, search: str = "", minutes: int = 10, size: int = MOST
) -> FunctionPage:
    """The functions active in the last ``minutes`` (the running one is the last), of one queue or of all.

    ``search`` is a part of the function's name. Two round trips.
    """
    keys, minutes, size = conf.keys, min(max(minutes, 1), MINUTES), min(size, MOST)
    first = Batch(server.connection)
    time, epoch = first.call("time"), first.call("get", keys.static("epoch"))
    counting = first.call("get", keys.static("counting_since"))
    active = first.call("zrevrange", keys.static("functions"), 0, LOOKED - 1, withscores=True)
    first.run()
    now = from_time(time.get((0, 0)))
    last = now // US // 60 * 60
    begin, wanted = last - (minutes - 1) * 60, search.casefold()
    pairs = []
    for raw, score in active.get([]):
        name, separator, function = shown(raw).rpartition(SEP)
        if separator and score >= begin * US and queue in (None, name) and wanted in function.casefold():
            pairs.append((name, function))
    starts = range(begin, last + 60, 60)
    second = Batch(server.connection)
    slots = [
        [second.call("hgetall", keys.of("minute", f"{start}{SEP}{name}{SEP}{function}")) for start in starts]
        for name, function in pairs[:size]
    ]
    second.run()
    since = known_since(epoch.get(), counting.get())
    known = [is_known(start, 60, since) for start in starts]
    rows = tuple(
        _stats(name, function, [slot.get({}) for slot in hashes], known)
        for (name, function), hashes in zip(pairs[:size], slots, strict=True)
    )
    return FunctionPage(now, begin * US, minutes, rows, len(pairs))


def _stats(queue: str, function: str, hashes: list[Any], known: list[bool]) -> FunctionStats:
    minutes = [{shown(key): max(0, number(value) or 0) for key, value in got.items()} for got in hashes]
    fields: Counter[str] = Counter()
    for minute in minutes:
        fields.update(minute)

    def by_minute(*events: str) -> tuple[int | None, ...]:
        return tuple(
            sum(minute.get(event, 0) for event in events) if counted or minute else None
            for minute, counted in zip(minutes, known, strict=True)
        )

    counts = {key: value for key, value in fields.items() if not _is_time(key)}
    waited, ran = from_fields(fields, "w"), from_fields(fields, "r")
    return FunctionStats(queue, function, counts, by_minute(*PLUS), by_minute("completed"), waited, ran)


def _is_time(field: str) -> bool:
    return field in ("wt", "rt") or (field[:1] in "wr" and field[1:].isdecimal())
