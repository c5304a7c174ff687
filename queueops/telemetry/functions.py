"""Per function of a queue: what it did in the last minutes, with percentiles of waiting and run time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queueops.telemetry.batch import Batch, number, shown
from queueops.telemetry.buckets import is_known
from queueops.telemetry.clock import US, known_since
from queueops.telemetry.events import PLUS
from queueops.telemetry.histograms import Histogram, from_fields

if TYPE_CHECKING:
    from queueops.rdb.client import Server

LOOKED = 2_000
"""Functions looked at, newest active first."""
MOST = 50
"""Functions read in full."""
MINUTES = 60
HASHES = 1_500
"""Minutes of functions that one call sums: some 10 ms of the server's time."""


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


class FunctionReader:
    """Functions with what they did in the last minutes, summed by a script that takes a part of them at a time."""

    def __init__(
        self,
        batch: Batch,
        *,
        queue: str | None = None,
        search: str = "",
        minutes: int = 10,
        size: int = MOST,
        whole: bool = False,
        active: bool = True,
    ) -> None:
        """``search`` is a part of the name; ``whole`` leaves out the running minute; ``active``: in these minutes."""
        self._minutes, size = min(max(minutes, 1), MINUTES), min(size, MOST)
        options = {
            "all": int(queue is None), "queue": queue or "", "search": search.lower(), "looked": LOOKED,
            "minutes": self._minutes, "whole": int(whole), "active": int(active), "plus": PLUS,
        }  # fmt: skip
        self._whole, step = whole, max(1, HASHES // self._minutes)
        self._slots = []
        for offset in range(0, size, step):
            part = {**options, "offset": offset, "size": min(step, size - offset)}
            text = json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")
            self._slots.append(batch.script("list_functions", text))

    def read(self) -> FunctionPage:
        answers = [slot.get([0, b"", b"", 0, []]) for slot in self._slots]
        now, epoch, counting, matching, _ = answers[0]
        since = known_since(epoch or None, counting)
        stop = int(now) // US // 60 * 60 + (0 if self._whole else 60)
        starts = range(stop - self._minutes * 60, stop, 60)
        known = [is_known(start, 60, since) for start in starts]
        rows = tuple(_stats(row, known) for answer in answers for row in answer[4])
        return FunctionPage(int(now), starts[0] * US, self._minutes, rows, matching)


def page(
    server: Server, *, queue: str | None = None, search: str = "", minutes: int = 10, size: int = MOST
) -> FunctionPage:
    """The functions active in the last ``minutes`` (the running one is the last), of one queue or of all. One trip."""
    batch = Batch(server.connection)
    reader = FunctionReader(batch, queue=queue, search=search, minutes=minutes, size=size)
    batch.run()
    return reader.read()


def _stats(raw: Sequence[Any], known: Sequence[bool]) -> FunctionStats:
    queue, function, flat, *series = raw
    fields = {shown(key): number(value) or 0 for key, value in zip(flat[::2], flat[1::2], strict=True)}
    inflow, completed = (
        tuple(n if n >= 0 else 0 if counted else None for n, counted in zip(row, known, strict=True)) for row in series
    )
    counts = {key: value for key, value in fields.items() if not _is_time(key)}
    waited, ran = from_fields(fields, "w"), from_fields(fields, "r")
    return FunctionStats(shown(queue), shown(function), counts, inflow, completed, waited, ran)


def _is_time(field: str) -> bool:
    return field in ("wt", "rt") or (field[:1] in "wr" and field[1:].isdecimal())
