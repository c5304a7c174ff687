"""Per function of a queue: what it did in the last minutes, with percentiles of waiting and run time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queueops.conf import conf
from queueops.rdb.keys import SEP
from queueops.telemetry.batch import Batch, number, text
from queueops.telemetry.clock import US, from_time
from queueops.telemetry.histograms import Histogram, from_fields

if TYPE_CHECKING:
    from queueops.rdb.client import Server

LOOKED = 2_000
MOST = 50
MINUTES = 60


@dataclass(frozen=True, slots=True)
class FunctionStats:
    """``counts`` by event over ``minutes``; ``waited`` and ``ran`` are histograms."""

    queue: str
    function: str
    minutes: int
    counts: dict[str, int]
    waited: Histogram
    ran: Histogram


@dataclass(frozen=True, slots=True)
class FunctionPage:
    """Newest active first; ``more`` when there were more than shown."""

    at: int
    rows: tuple[FunctionStats, ...]
    more: bool


def page(server: Server, *, queue: str | None = None, minutes: int = 10, size: int = MOST) -> FunctionPage:
    """The functions that were active last, of one queue or of all; two round trips."""
    keys, minutes, size = conf.keys, min(max(minutes, 1), MINUTES), min(size, MOST)
    first = Batch(server.connection)
    time = first.call("time")
    known = first.call("zrevrange", keys.static("functions"), 0, LOOKED - 1)
    first.run()
    now = from_time(time.get((0, 0)))
    pairs = []
    for raw in known.get([]):
        name, separator, function = (text(raw) or "").rpartition(SEP)
        if separator and queue in (None, name):
            pairs.append((name, function))
    last = now // US // 60 * 60
    starts = range(last - (minutes - 1) * 60, last + 60, 60)
    second = Batch(server.connection)
    slots = [
        [second.call("hgetall", keys.of("minute", f"{start}{SEP}{name}{SEP}{function}")) for start in starts]
        for name, function in pairs[:size]
    ]
    second.run()
    rows = []
    for (name, function), hashes in zip(pairs[:size], slots, strict=True):
        fields: Counter[str] = Counter()
        for slot in hashes:
            for key, value in slot.get({}).items():
                fields[key.decode("utf-8", "replace")] += max(0, number(value) or 0)
        counts = {key: value for key, value in fields.items() if not _is_time(key)}
        rows.append(FunctionStats(name, function, minutes, counts, from_fields(fields, "w"), from_fields(fields, "r")))
    return FunctionPage(now, tuple(rows), len(pairs) > size)


def _is_time(field: str) -> bool:
    return field in ("wt", "rt") or (field[:1] in "wr" and field[1:].isdecimal())
