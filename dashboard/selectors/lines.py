"""What the parked jobs wait for, of all servers together."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.selectors import store
from dashboard.selectors.remembered import Remembered
from queueops.rdb.client import servers
from queueops.telemetry import lines
from queueops.telemetry.lines import Line

MOST = 12


@dataclass(frozen=True, slots=True)
class Parked:
    """Longest first, each with its server; ``more`` controls are not shown, ``partial`` says that not all were read."""

    rows: tuple[tuple[str, Line], ...]
    more: int
    partial: bool


_memory: Remembered[Parked] = Remembered()


def parked() -> Parked:
    """One round trip a server, none when read a moment ago; a server that does not answer has no rows here."""
    return _memory.get(None, _read)


def _read() -> Parked:
    rows: list[tuple[str, Line]] = []
    partial = False
    for server in servers():
        try:
            with store.guard(server):
                found = lines.lines(server)
        except store.StoreDown:
            continue  # the shared snapshot shows its panel
        rows += [(server.alias, row) for row in found.rows]
        partial |= found.partial
    rows.sort(key=lambda pair: (-pair[1].waiting, pair[1].name))
    return Parked(tuple(rows[:MOST]), max(0, len(rows) - MOST), partial)
