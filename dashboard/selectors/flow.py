"""Inflow against completion, per queue and minute, from the shared snapshot: no read of its own."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.selectors.snapshots import QueueRow, Series, State


@dataclass(frozen=True, slots=True)
class Minute:
    """One minute: its start in µs, what arrived and what was completed; None is a gap."""

    at: int
    inflow: float | None
    completed: float | None

    @property
    def gap(self) -> float | None:
        return None if self.inflow is None or self.completed is None else self.inflow - self.completed


@dataclass(frozen=True, slots=True)
class Flow:
    """All queues small, one of them (or all together, ``chosen`` None) large."""

    queues: tuple[QueueRow, ...]
    chosen: QueueRow | None
    inflow: Series
    completed: Series
    minutes: tuple[Minute, ...]
    end: int
    all_in: Series
    all_out: Series

    @property
    def total_in(self) -> float | None:
        known = [v for v in self.inflow if v is not None]
        return sum(known) if known else None

    @property
    def total_out(self) -> float | None:
        known = [v for v in self.completed if v is not None]
        return sum(known) if known else None


def total(series: list[Series]) -> Series:
    """Minute by minute; a minute is a gap only when no queue knows it."""
    length = max(map(len, series), default=0)
    padded = [(None,) * (length - len(s)) + tuple(s) for s in series]
    columns = list(zip(*padded, strict=True)) if padded else []
    return tuple(
        sum(v for v in column if v is not None) if any(v is not None for v in column) else None for column in columns
    )


def flow(state: State, name: str | None) -> Flow:
    """The chosen queue's series, or the sum of all."""
    chosen = state.queue(name) if name is not None else None
    if name is not None and chosen is None:
        rows: tuple[QueueRow, ...] = ()
    else:
        rows = (chosen,) if chosen else state.queues
    inflow, completed = total([r.spark_in for r in rows]), total([r.spark_out for r in rows])
    end = state.at // 10_000_000 * 10_000_000  # the newest minute ends with the newest closed 10 s bucket
    count = min(len(inflow), len(completed))
    minutes = tuple(
        Minute(end - (count - i) * 60_000_000, inflow[len(inflow) - count + i], completed[len(completed) - count + i])
        for i in range(count)
    )
    everything = total([r.spark_in for r in state.queues]), total([r.spark_out for r in state.queues])
    return Flow(state.queues, chosen, inflow, completed, minutes, end, *everything)
