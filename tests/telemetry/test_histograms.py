from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queueops.rdb.bins import BINS, bin_of
from queueops.telemetry.histograms import Histogram, bounds, from_fields, merged


@given(st.floats(min_value=1, max_value=2**32))
def test_a_time_lies_inside_its_bin(ms: float) -> None:
    low, high = bounds(bin_of(ms))
    assert low <= ms * 1.0000001
    assert ms < high * 1.0000001


@pytest.mark.parametrize("ms", [0, -1, 0.5, 1])
def test_short_times_share_the_first_bin(ms: float) -> None:
    assert bin_of(ms) == 0


def test_very_long_times_share_the_last_bin() -> None:
    assert bin_of(2**40) == BINS - 1


def test_no_sample_has_no_percentile() -> None:
    assert Histogram().percentile(95) is None
    assert Histogram().mean is None


@pytest.mark.parametrize("p", [50, 95, 99])
def test_percentiles_are_within_a_bin_of_the_truth(p: float) -> None:
    chance = random.Random(1)
    times = sorted(chance.lognormvariate(5, 1.2) for _ in range(20_000))
    counts: dict[int, int] = {}
    for ms in times:
        counts[bin_of(ms)] = counts.get(bin_of(ms), 0) + 1
    truth = times[math.ceil(p / 100 * len(times)) - 1] / 1000
    found = Histogram(counts).percentile(p)
    assert found is not None
    assert truth / 2**0.25 <= found <= truth * 2**0.25


def test_percentiles_never_fall() -> None:
    histogram = Histogram({0: 3, 12: 5, 40: 1, 130: 2})
    found = [histogram.percentile(p) or 0 for p in range(101)]
    assert found == sorted(found)


def test_fields_of_a_minute_become_histograms() -> None:
    fields = {"w0": 2, "w13": 1, "r40": 4, "wt": 5_000_000, "rt": 9_000_000, "woken": 3, "retried": 8, "w999": 1}
    waited, ran = from_fields(fields, "w"), from_fields(fields, "r")
    assert waited.counts == {0: 2, 13: 1, 130: 1}
    assert waited.sum_us == 5_000_000
    assert ran.counts == {40: 4}
    assert ran.mean == pytest.approx(2.25)
    assert merged([ran, ran]).total == 8
