from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from queueops.diagnosis.drain import COVERED, Drain, estimate

Minutes = list[tuple[float | None, float | None]]


def test_the_rule_of_thumb() -> None:
    found = estimate(600, [(100.0, 160.0)] * 10)
    assert found == Drain("clears", 10, 100, 160, 600.0, 600.0, 600.0)


def test_600_waiting_at_12_in_and_10_out_a_second_will_not_clear() -> None:
    assert estimate(600, [(720.0, 600.0)] * 10).verdict == "growing"


@pytest.mark.parametrize(
    ("waiting", "minutes", "verdict"),
    [
        (0, [(1.0, 2.0)] * 9, "empty"),
        (5, [], "unknown"),
        (5, [(1.0, 2.0)] * 2, "unknown"),
        (5, [(None, None)] * 9 + [(1.0, 2.0)] * 2, "unknown"),
        (5, [(0.0, 0.0)] * 9, "standing"),
        (5, [(3.0, 0.0)] * 9, "standing"),
        (50, [(10.0, 10.2)] * 9, "level"),
        (50, [(10.0, 9.8)] * 9, "level"),
    ],
)
def test_it_refuses_in_words(waiting: int, minutes: Minutes, verdict: str) -> None:
    found = estimate(waiting, minutes)
    assert found.verdict == verdict and found.seconds is None and found.low is None


def test_gaps_are_left_out() -> None:
    minutes: Minutes = [(100.0, 160.0), (None, None), (100.0, None)] * 4
    assert estimate(600, minutes) == Drain("clears", 4, 100, 160, 600.0, 600.0, 600.0)


def test_a_spread_that_does_not_exclude_zero_has_no_upper_end() -> None:
    found = estimate(600, [(100.0, 300.0), (200.0, 100.0), (100.0, 160.0), (180.0, 120.0)])
    assert found.verdict == "clears" and found.high is None
    assert found.low and found.seconds and found.low < found.seconds


def test_after_a_change_of_pace_only_the_new_one_counts() -> None:
    before: Minutes = [(100.0 + n % 3, 90.0) for n in range(10)]
    found = estimate(600, before + [(100.0 + n % 3, 300.0) for n in range(5)])
    assert found.minutes == 5 and found.completed == 300


def test_beyond_the_cap_no_time_is_named() -> None:
    assert estimate(10_000_000, [(100.0, 110.0)] * 9).capped
    assert not estimate(10_000, [(100.0, 110.0)] * 9).capped


# --- does the interval hold the true time as often as it says? --------------------------------------------------------


def poisson(rng: random.Random, mean: float) -> int:
    """By the arrivals of a minute; for large means the normal one is as good."""
    if mean > 200:
        return max(0, round(rng.gauss(mean, mean**0.5)))
    count, left = 0, rng.expovariate(mean)
    while left < 1:
        count, left = count + 1, left + rng.expovariate(mean)
    return count


def steady(rng: random.Random) -> Callable[[], tuple[float, float]]:
    inflow, completed = rng.uniform(5, 60), rng.uniform(65, 160)
    return lambda: (poisson(rng, inflow), poisson(rng, completed))


def bursty(rng: random.Random) -> Callable[[], tuple[float, float]]:
    """Batches of ten arrive and are done."""
    inflow, completed = rng.uniform(1, 5), rng.uniform(7, 16)
    return lambda: (10 * poisson(rng, inflow), 10 * poisson(rng, completed))


def wandering(rng: random.Random) -> Callable[[], tuple[float, float]]:
    """The pace of a minute resembles that of the one before."""
    inflow, completed, state = rng.uniform(20, 60), rng.uniform(90, 160), [0.0]

    def minute() -> tuple[float, float]:
        state[0] = 0.5 * state[0] + rng.gauss(0, 8)
        return poisson(rng, inflow), max(0.0, poisson(rng, completed) + state[0])

    return minute


@pytest.mark.parametrize("kind", [steady, bursty, wandering])
@pytest.mark.parametrize("horizon", [5, 20, 60])
def test_the_interval_holds_the_true_time_at_its_rate(
    kind: Callable[..., Callable[..., tuple[float, float]]], horizon: int
) -> None:
    rng = random.Random(f"{kind.__name__} {horizon}")
    held = rounds = 0
    while rounds < 400:
        minute = kind(rng)
        history = [minute() for _ in range(15)]
        mean = sum(b - a for a, b in history) / 15
        if mean <= 0:
            continue
        waiting = round(mean * horizon)
        found = estimate(waiting, history)
        if found.verdict != "clears" or found.low is None:
            continue
        rounds += 1
        left, passed = float(waiting), 0.0
        while left > 0 and passed < 50 * horizon:
            a, b = minute()
            step = min(1.0, left / (b - a)) if b > a else 1.0
            left, passed = left - (b - a), passed + step
        held += found.low <= 60 * passed <= (found.high or float("inf"))
    assert COVERED - 0.08 <= held / rounds <= 0.97
