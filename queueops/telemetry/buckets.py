"""Counts and rates from time-stamped buckets.

A bucket carries its own time (by Redis TIME), so late reads, restarts of the reader and steps of a host's clock change
nothing. A closed bucket never changes again and is remembered. A bucket from before the counters were known to count
is a gap (``None``), never zero; no difference of counters is ever taken, so nothing can be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from queueops.rdb.keys import SEP, Keys
from queueops.telemetry.batch import Batch, Slot, number
from queueops.telemetry.clock import US

TEN = 10
"""Seconds of the small bucket."""
TEN_KEPT = 3600
MINUTE_KEPT = 3 * 3600

READ_BUDGET = 60_000
"""Values asked for in one round trip at most; older buckets follow with the next."""


@dataclass(frozen=True, slots=True)
class Series:
    """Counts per step, oldest first; ``None`` is a gap. ``partial`` are the seconds of the unfinished last step."""

    start: int
    step: int
    values: tuple[int | None, ...]
    partial: float = 0.0

    @property
    def times(self) -> tuple[int, ...]:
        """Start of each step in epoch seconds."""
        return tuple(self.start + i * self.step for i in range(len(self.values)))


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` events in ``seconds`` of known time; ``per_minute`` is ``None`` when too little time is known."""

    count: int
    seconds: float

    @property
    def per_minute(self) -> float | None:
        return None if self.seconds < TEN else self.count * 60 / self.seconds


def floor_to(seconds: float, step: int) -> int:
    """The start of the bucket that contains ``seconds``."""
    return int(seconds // step) * step


def is_known(start: int, step: int, since: int | None) -> bool:
    """Does a missing bucket at ``start`` (epoch seconds) mean zero? ``since`` is in µs (clock.known_since)."""
    return since is not None and start + step > since / US


class TenReader:
    """The 10 s buckets of many queues, remembered once closed.

    Use: :meth:`plan` adds the missing reads to a batch, :meth:`absorb` takes the answers. One reader belongs to one
    thread; a new one simply reads the whole hour once.
    """

    def __init__(self, keys: Keys, events: Sequence[str]) -> None:
        self._keys = keys
        self.events = tuple(events)
        self._closed: dict[str, dict[int, tuple[int, ...] | None]] = {}
        self._open: dict[str, tuple[int, ...] | None] = {}
        self._minutes: dict[str, dict[tuple[tuple[str, ...], int], int | None]] = {}
        self._complete = -1  # start of the current bucket while no older one is missing
        self._cut = False
        self._asked: list[tuple[int, list[str], Slot]] = []
        self._now = 0.0
        self._since: int | None = None

    def plan(self, batch: Batch, queues: Sequence[str], now: int, since: int | None, span: int = TEN_KEPT) -> None:
        """Add the reads for the last ``span`` seconds up to ``now`` (µs), newest first, within the budget."""
        before = floor_to(self._now, TEN)
        self._now, self._since, self._asked = now / US, since, []
        current = floor_to(self._now, TEN)
        if current != before or self._closed.keys() != set(queues):
            self._forget(set(queues), current - TEN_KEPT)
            self._complete = -1
        left, self._cut = READ_BUDGET, False
        oldest = current if self._complete == current else current - span
        for start in range(current, oldest - TEN, -TEN):
            missing = [q for q in queues if start == current or start not in self._closed[q]]
            if not missing:
                continue
            if start < current and left < len(missing) * len(self.events):
                self._cut = True
                break
            left -= len(missing) * len(self.events)
            fields = [f"{queue}{SEP}{event}" for queue in missing for event in self.events]
            slot = batch.call("hmget", self._keys.of("ten", str(start)), fields)
            self._asked.append((start, missing, slot))

    def _forget(self, wanted: set[str], oldest: int) -> None:
        self._closed = {q: {s: v for s, v in self._closed.get(q, {}).items() if s >= oldest} for q in wanted}
        self._minutes = {q: {k: v for k, v in self._minutes.get(q, {}).items() if k[1] >= oldest} for q in wanted}

    def absorb(self) -> None:
        """Take the answers of the batch that :meth:`plan` filled."""
        width = len(self.events)
        current = floor_to(self._now, TEN)
        self._open = {}
        for start, queues, slot in self._asked:
            raw = slot.get()
            if raw is None:
                self._cut = True
                continue
            known = is_known(start, TEN, self._since)
            for i, queue in enumerate(queues):
                got = raw[i * width : (i + 1) * width]
                counted = known or any(value is not None for value in got)
                values = tuple(max(0, number(value) or 0) if value else 0 for value in got) if counted else None
                if start == current:
                    self._open[queue] = values
                else:
                    self._closed[queue][start] = values
        self._asked = []
        self._complete = -1 if self._cut else current

    def _sum(self, queue: str, starts: Iterable[int], events: tuple[str, ...]) -> int | None:
        """Events in closed buckets; ``None`` if one of them is a gap."""
        closed, picks, total = self._closed.get(queue, {}), self._picks(events), 0
        for start in starts:
            values = closed.get(start)
            if values is None:
                return None
            for i in picks:
                total += values[i]
        return total

    def _picks(self, events: Iterable[str]) -> list[int]:
        return [self.events.index(event) for event in events]

    def _unfinished(self, queue: str, events: Iterable[str]) -> int | None:
        values = self._open.get(queue)
        return None if values is None else sum(values[i] for i in self._picks(events))

    def rate(self, queue: str, events: Iterable[str], window: int = 60) -> Rate:
        """Events in the last ``window`` seconds of closed buckets and the current one, over the time really known."""
        chosen = tuple(events)
        current = floor_to(self._now, TEN)
        begun = None if self._since is None else self._since / US
        count, seconds = 0, 0.0
        for start in range(current - window, current, TEN):
            got = self._sum(queue, (start,), chosen)
            if got is None:
                continue
            count += got
            seconds += TEN if begun is None else min(TEN, max(0.0, start + TEN - begun)) or TEN
        got = self._unfinished(queue, chosen)
        if got is not None:
            count += got
            seconds += self._now - max(current, begun or 0)
        return Rate(count, max(0.0, seconds))

    def minutes(self, queue: str, events: Iterable[str], n: int = 60) -> Series:
        """Counts of the last ``n`` whole minutes, ending with the newest closed 10 s bucket."""
        chosen = tuple(events)
        end = floor_to(self._now, TEN)
        first = end - n * 60
        return Series(first, 60, tuple(self._minute(queue, start, chosen) for start in range(first, end, 60)))

    def _minute(self, queue: str, start: int, events: tuple[str, ...]) -> int | None:
        """A minute of closed buckets, summed up once."""
        known, wanted = self._minutes.setdefault(queue, {}), (events, start)
        if wanted not in known:
            closed, starts = self._closed.get(queue, {}), range(start, start + 60, TEN)
            if not all(ten in closed for ten in starts):
                return None
            known[wanted] = self._sum(queue, starts, events)
        return known[wanted]

    def clock_minutes(self, queue: str, events: Iterable[str], n: int = 60) -> Series:
        """Counts of the last ``n`` minutes of the clock; the last is unfinished, ``partial`` seconds of it are over."""
        chosen = tuple(events)
        last = floor_to(self._now, 60)
        first, current = last - (n - 1) * 60, floor_to(self._now, TEN)
        values = [self._minute(queue, start, chosen) for start in range(first, last, 60)]
        closed, unfinished = self._sum(queue, range(last, current, TEN), chosen), self._unfinished(queue, chosen)
        values.append(None if closed is None or unfinished is None else closed + unfinished)
        return Series(first, 60, tuple(values), self._now - last)
