"""Which controls the parked jobs wait for, over all their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queueops.conf import conf
from queueops.rdb.keys import split_instance
from queueops.telemetry.batch import Batch, shown
from queueops.telemetry.instances import control_of

if TYPE_CHECKING:
    from queueops.rdb.client import Server

LOOKED = 2_000
"""Locks, semaphores and rates looked at, newest changed first."""


@dataclass(frozen=True, slots=True)
class Line:
    """``waiting`` jobs wait for ``control`` (an id), in the lines of ``keys`` keys."""

    control: str
    kind: str
    name: str
    waiting: int
    keys: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Longest first; ``partial`` when there are more than ``LOOKED`` to look at."""

    rows: tuple[Line, ...]
    partial: bool


def lines(server: Server) -> Lines:
    """The lines of one server; two round trips."""
    keys = conf.keys
    first = Batch(server.connection)
    known = first.call("zcard", keys.static("instances"))
    found = first.call("zrevrange", keys.static("instances"), 0, LOOKED - 1)
    first.run()
    names = [shown(raw) for raw in found.get([])]
    second = Batch(server.connection)
    slots = [second.call("zcard", keys.of("line", name)) for name in names]
    second.run()
    sums: dict[str, list[int]] = {}
    for name, slot in zip(names, slots, strict=True):
        if count := slot.number():
            sums.setdefault(control_of(name), []).append(count)
    rows = [Line(control, *split_instance(control)[:2], sum(counts), len(counts)) for control, counts in sums.items()]
    return Lines(tuple(sorted(rows, key=lambda row: (-row.waiting, row.name))), known.number() > len(names))
