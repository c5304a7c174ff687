"""The bins in which the counters keep times."""

from __future__ import annotations

import math

BINS = 131


def bin_of(ms: float) -> int:
    """The bin of a time in milliseconds."""
    return min(BINS - 1, max(0, math.floor(4 * math.log2(ms)))) if ms > 1 else 0
