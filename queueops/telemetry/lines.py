"""Which controls the parked jobs wait for, over all their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queueops.conf import conf
from queueops.rdb.keys import split_instance
from queueops.telemetry.batch import Batch
from queueops.telemetry.instances import LineReader, control_of

if TYPE_CHECKING:
    from queueops.rdb.client import Server

LOOKED = 1_000
"""Locks, semaphores and rates looked at beside those that parked jobs name, newest changed first."""


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
    """Longest first; ``partial`` when there are more to look at."""

    rows: tuple[Line, ...]
    partial: bool


def lines(server: Server) -> Lines:
    """The lines of one server; one round trip."""
    batch = Batch(server.connection)
    known = batch.call("zcard", conf.keys.static("instances"))
    reader = LineReader(batch, newest=LOOKED)
    batch.run()
    found = reader.read()
    sums: dict[str, list[int]] = {}
    for name, count in found.items():
        if count:
            sums.setdefault(control_of(name), []).append(count)
    rows = [Line(control, *split_instance(control)[:2], sum(counts), len(counts)) for control, counts in sums.items()]
    return Lines(tuple(sorted(rows, key=lambda row: (-row.waiting, row.name))), known.number() > len(found))
