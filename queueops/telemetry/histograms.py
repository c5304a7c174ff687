"""Waiting and run times from logarithmic bins.

Bin ``k`` counts times in [2^(k/4), 2^((k+1)/4)) ms, as ``floor(4 * log2(ms))`` puts them; bin 0 also holds everything
under 1 ms, bin 130 everything from 2^32.5 ms (70 days). Neighbouring bounds differ by 19 %, so a percentile is at most
that far off. Inside a bin values are taken as spread evenly on the logarithmic scale, as Prometheus does for
exponential buckets in ``histogram_quantile``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from queueops.rdb.bins import BINS


def bounds(index: int) -> tuple[float, float]:
    """The lower (inclusive) and upper bound of a bin in milliseconds; bin 0 starts at 0."""
    return (0.0 if index == 0 else 2 ** (index / 4)), 2 ** ((index + 1) / 4)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by bin and the sum of the times in µs."""

    counts: Mapping[int, int] = field(default_factory=dict)
    sum_us: int = 0

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def mean(self) -> float | None:
        """Seconds; ``None`` without a sample."""
        return self.sum_us / self.total / 1_000_000 if self.total else None

    def percentile(self, p: float) -> float | None:
        """Seconds under which ``p`` per cent of the samples lie; ``None`` without a sample."""
        total = self.total
        if not total:
            return None
        rank = min(100.0, max(0.0, p)) / 100 * total
        seen = 0
        for index in sorted(self.counts):
            count = self.counts[index]
            if count > 0 and seen + count >= rank:
                low, high = bounds(index)
                share = (rank - seen) / count
                if low == 0:
                    return high * share / 1000
                return low * (high / low) ** share / 1000
            seen += count
        return bounds(max(self.counts))[1] / 1000

    def __add__(self, other: Histogram) -> Histogram:
        merged = dict(self.counts)
        for index, count in other.counts.items():
            merged[index] = merged.get(index, 0) + count
        return Histogram(merged, self.sum_us + other.sum_us)


def merged(parts: Iterable[Histogram]) -> Histogram:
    """All parts together."""
    total = Histogram()
    for part in parts:
        total = total + part
    return total


def from_fields(fields: Mapping[str, int], kind: str) -> Histogram:
    """The histogram ``w`` (waiting) or ``r`` (running) from the fields of a minute's hash."""
    counts: dict[int, int] = {}
    for name, value in fields.items():
        if name.startswith(kind) and name[1:].isdecimal() and value > 0:
            index = min(int(name[1:]), BINS - 1)
            counts[index] = counts.get(index, 0) + value
    return Histogram(counts, max(0, fields.get(f"{kind}t", 0)))
