"""What a bench says: one line per figure, with its budget and whether it was met."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """One figure. ``ratio`` is to plain RQ (or what the name says) in the same run; ``met`` None: no budget."""

    name: str
    figure: str
    ratio: float | None = None
    budget: str = ""
    met: bool | None = None

    def text(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        verdict = {True: "met", False: "SHORT", None: "-"}[self.met]
        return f"{self.name:<50} {self.figure:<44} {ratio:>7}  {self.budget:<11} {verdict}"


HEADING = f"{'what':<50} {'figure':<44} {'ratio':>7}  {'budget':<11} verdict"


def at_least(name: str, figure: str, ratio: float, least: float | None) -> Line:
    """A line about a ratio that should be ``least`` or more."""
    if least is None:
        return Line(name, figure, ratio)
    return Line(name, figure, ratio, f">= {least:g}x", round(ratio, 2) >= least)


def at_most(name: str, figure: str, value: float, most: float, budget: str, ratio: float | None = None) -> Line:
    """A line about a value that should be ``most`` or less."""
    return Line(name, figure, ratio, budget, round(value, 2) <= most)


def below(name: str, figure: str, value: float, limit: float, budget: str, ratio: float | None = None) -> Line:
    """A line about a value that should be less than ``limit``."""
    return Line(name, figure, ratio, budget, value < limit)


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that ``part`` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(part * len(ordered) + 0.5) - 1))]


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of the ratios within each repetition: what slows the machine for a while slows both sides."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def save(lines: Sequence[Line], about: dict[str, object], path: Path) -> None:
    """Write everything as one JSON object."""
    path.write_text(json.dumps({"about": about, "lines": [asdict(line) for line in lines]}, indent=1) + "\n")
