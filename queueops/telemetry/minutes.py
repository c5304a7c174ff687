"""Whole minutes of all functions as the doors counted them, to be kept beyond the three hours that Redis has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import SEP
from queueops.telemetry.batch import Batch, number, shown
from queueops.telemetry.buckets import is_known
from queueops.telemetry.clock import US, from_time, known_since
from queueops.telemetry.events import ALL

if TYPE_CHECKING:
    from queueops.rdb.client import Server

CHUNK = 500
"""Hashes of minutes read in one round trip."""
TIMES = ("w", "r")
"""Waiting and run time."""


@dataclass(slots=True)
class Tally:
    """Counts by event, times by bin (see histograms) and their sums (µs) of one function."""

    counts: dict[str, int] = field(default_factory=dict)
    bins: dict[str, dict[str, int]] = field(default_factory=lambda: {kind: {} for kind in TIMES})
    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIMES, 0))
    used: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By dependency: n calls, e errors, t the sum of their times (µs), b calls by bin."""

    def add(self, name: str, value: int) -> None:
        """One field of a minute's hash."""
        kind, rest = name[:1], name[1:]
        if kind in TIMES and rest == "t":
            self.sums[kind] += value
        elif kind in TIMES and rest.isdecimal():
            self.bins[kind][rest] = self.bins[kind].get(rest, 0) + value
        elif kind == "d" and SEP in name:
            part, _sep, used = name[1:].partition(SEP)
            self._add_used(part, used, value)
        elif name in ALL:
            self.counts[name] = self.counts.get(name, 0) + value

    def _add_used(self, kind: str, name: str, value: int) -> None:
        if kind not in ("n", "e", "t") and not kind.isdecimal():
            return
        one = self.used.setdefault(
            name[:200].replace("\x00", "\N{REPLACEMENT CHARACTER}"), {"n": 0, "e": 0, "t": 0, "b": {}}
        )
        if kind in one:
            one[kind] += value
        else:
            one["b"][kind] = one["b"].get(kind, 0) + value

    def as_json(self) -> dict[str, Any]:
        told = {"n": self.counts, **self.bins, **{f"{kind}t": total for kind, total in self.sums.items()}}
        return {**told, "d": self.used} if self.used else told

    def merge(self, told: Mapping[str, Any]) -> None:
        """Another tally, as :meth:`as_json` made it."""
        for event, n in told["n"].items():
            self.counts[event] = self.counts.get(event, 0) + n
        for name, one in told.get("d", {}).items():
            for kind in ("n", "e", "t"):
                self._add_used(kind, name, one[kind])
            for bin_, n in one["b"].items():
                self._add_used(bin_, name, n)
        for kind in TIMES:
            self.sums[kind] += told[f"{kind}t"]
            for bin_, n in told[kind].items():
                self.bins[kind][bin_] = self.bins[kind].get(bin_, 0) + n


Functions = dict[str, dict[str, Tally]]
"""queue -> function -> what it did."""


def last_whole(server: Server, settled: int) -> tuple[int, int | None]:
    """The newest minute that ended ``settled`` seconds ago or earlier, and the µs since when counters count."""
    batch = Batch(server.connection)
    time = batch.call("time")
    epoch, since = (batch.call("get", conf.keys.static(name)) for name in ("epoch", "counting_since"))
    batch.run()
    now = from_time(time.get((0, 0))) // US
    return (now - settled) // 60 * 60 - 60, known_since(epoch.get(), since.get())


def known(start: int, since: int | None) -> bool:
    """Does a missing count of the minute at ``start`` mean zero?"""
    return is_known(start, 60, since)


def read(server: Server, starts: Iterable[int]) -> dict[int, Functions]:
    """By start of the minute (epoch seconds). One round trip, and one more for each 500 (function, minute)."""
    minutes = sorted(starts)
    found: dict[int, Functions] = {start: {} for start in minutes}
    if not minutes:
        return found
    first = Batch(server.connection)
    active = first.call("zrangebyscore", conf.keys.static("functions"), minutes[0] * US, "+inf")
    first.run()
    wanted = [(start, raw) for start in minutes for raw in active.get([])]
    for at in range(0, len(wanted), CHUNK):
        part, batch = wanted[at : at + CHUNK], Batch(server.connection)
        slots = [batch.call("hgetall", _key(start, raw)) for start, raw in part]
        batch.run()
        for (start, raw), slot in zip(part, slots, strict=True):
            fields = slot.get({})
            if fields:
                queue, _, function = shown(raw).partition(SEP)
                tally = found[start].setdefault(queue, {}).setdefault(function, Tally())
                for name, value in fields.items():
                    tally.add(shown(name), max(0, number(value) or 0))
    return found


def _key(start: int, raw: bytes) -> bytes:
    return f"{conf.keys.of('minute', str(start))}{SEP}".encode() + raw
