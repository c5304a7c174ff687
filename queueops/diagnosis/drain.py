"""When is a backlog gone? From the minutes before now, with the interval that their spread allows, or a refusal.

With a mean net flow of m jobs a minute (completed minus inflow) over n minutes of variance s², the backlog W after T
minutes is W - mT, known with a variance of s²T (what is still to come) + T²s²/n (how little of m is known). The ends of
the interval solve (W - mT)² = q²(s²T + T²s²/n), q being Student's quantile for n - 1 degrees of freedom (the closed
form of Fieller, "The biological standardization of insulin", 1940, with the noise of the time ahead added).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

LEAST = 3
"""Whole minutes that must be known."""
WINDOW = 15
"""Minutes looked at."""
RECENT = 5
"""Minutes that count alone when the pace has changed."""
CAP = 30 * 24 * 60.0
"""Minutes beyond which nothing is promised."""
LEVEL = 0.05
"""Of the completions: a smaller difference is none."""
COVERED = 0.8
"""Of the intervals hold the true time."""

_STUDENT = (
    3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341, 1.337,
    1.333, 1.330, 1.328, 1.325, 1.323, 1.321, 1.319, 1.318, 1.316, 1.315, 1.314, 1.313, 1.311, 1.310,
)  # fmt: skip
"""Student's 90 % quantile for 1 to 30 degrees of freedom: 10 % lie beyond each end."""


@dataclass(frozen=True, slots=True)
class Drain:
    """``verdict``: empty, unknown, standing (nothing completes), growing, level (as much arrives as is done), clears.

    Times in seconds; ``high`` is None when the spread does not exclude that it never clears. ``pace`` is completed
    minus inflow, a minute, over the ``minutes`` that were looked at.
    """

    verdict: str
    minutes: int = 0
    inflow: float = 0.0
    completed: float = 0.0
    seconds: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def pace(self) -> float:
        return self.completed - self.inflow

    @classmethod
    def of(cls, queue: Mapping[str, Any]) -> Drain:
        """Of a queue of the snapshot; a paused one is ``paused``."""
        if queue["paused"]:
            return cls("paused")
        waiting = sum(queue["open"][state] for state in ("queued", "parked", "rate_limited", "intermediate"))
        return estimate(waiting, tuple(zip(queue["spark"]["in"], queue["spark"]["out"], strict=False)))

    @property
    def capped(self) -> bool:
        """It clears so late that no time is worth naming."""
        return self.seconds is not None and self.seconds > CAP * 60


def estimate(waiting: int, minutes: Sequence[tuple[float | None, float | None]]) -> Drain:
    """``minutes`` are (inflow, completed) of whole minutes, oldest first; unknown ones are left out."""
    if waiting <= 0:
        return Drain("empty")
    known = [(a, b) for a, b in minutes[-WINDOW:] if a is not None and b is not None]
    known = _same_pace(known)
    n = len(known)
    if n < LEAST:
        return Drain("unknown", n)
    inflow, completed = sum(a for a, _ in known) / n, sum(b for _, b in known) / n
    if completed == 0:
        return Drain("standing", n, inflow, completed)
    pace = completed - inflow
    if pace <= LEVEL * completed:
        return Drain("growing" if -pace > LEVEL * completed else "level", n, inflow, completed)
    low, high = _interval(waiting, [b - a for a, b in known], pace)
    return Drain("clears", n, inflow, completed, 60 * waiting / pace, 60 * low, None if high is None else 60 * high)


def _same_pace(known: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The last minutes alone, when they differ from those before by more than chance explains (three deviations)."""
    before, recent = [b - a for a, b in known[:-RECENT]], [b - a for a, b in known[-RECENT:]]
    if len(before) < LEAST:
        return known
    spread = _variance(before) / len(before) + _variance(recent) / len(recent)
    apart = abs(sum(recent) / len(recent) - sum(before) / len(before))
    return known[-RECENT:] if apart > 3 * sqrt(spread) and apart > 0 else known


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)


def _interval(waiting: float, net: Sequence[float], pace: float) -> tuple[float, float | None]:
    """Minutes. Neighbours that resemble each other tell less than as many strangers: their variance counts more."""
    n, variance = len(net), _variance(net)
    if variance:
        pairs = sum((a - pace) * (b - pace) for a, b in pairwise(net)) / (n - 1)
        likeness = pairs / variance
        likeness += (1 + 3 * likeness) / n  # what few values hide of it (Kendall, Biometrika 41, 1954)
        likeness = min(max(likeness, 0.0), 0.6)
        variance *= (1 + likeness) / (1 - likeness)  # of a first-order autoregression
    noise = _STUDENT[min(n - 1, len(_STUDENT)) - 1] ** 2 * variance
    a, b, c = pace**2 - noise / n, 2 * pace * waiting + noise, waiting**2
    root = sqrt(max(b**2 - 4 * a * c, 0.0))
    low = 2 * c / (b + root)
    return low, (b + root) / (2 * a) if a > 0 else None
