"""Has a queue recovered? Only when all of nine conditions hold; one that is unknown is not held for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from queueops.telemetry.dependencies import dependencies
from queueops.telemetry.history import Point
from queueops.telemetry.ledger import Ledger

WINDOWS = 3
"""Whole minutes in which age and count must have fallen."""
SMALL = 5
"""Jobs that may wait at any time: fewer than this, or than a minute completes, are no backlog."""
FAILURES = 1.5
"""How many times the usual share of failed attempts is still usual."""
SHARE = 0.02
"""A share of failed attempts that much above the usual one is still usual."""
REMOVED = ("discarded", "expired", "cancelled", "skipped", "superseded", "moved_out")
"""Ways out of a queue that are no work done."""


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a queue. ``minutes``: the last whole ones, oldest first, at least one more than ``WINDOWS``;
    ``usual``: earlier buckets that show how it normally is; ages in seconds; ``restraints``: pauses, limits, isolations
    in force.
    """

    minutes: Sequence[Point | None]
    usual: Sequence[Point | None]
    waiting: int
    oldest_age: float | None
    max_age: float
    quarantined: int
    restraints: int
    ledger: Ledger | None


@dataclass(frozen=True, slots=True)
class Condition:
    """``state``: holds, fails or unknown; ``facts`` are the numbers behind it."""

    name: str
    state: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recovery:
    conditions: tuple[Condition, ...]

    def count(self, state: str) -> int:
        return sum(condition.state == state for condition in self.conditions)

    @property
    def state(self) -> str:
        """``recovered``, ``not_yet`` or ``unknown``."""
        return "not_yet" if self.count("fails") else "unknown" if self.count("unknown") else "recovered"


def judge(view: View) -> Recovery:
    """The nine conditions, in the order in which people ask."""
    last = view.minutes[-(WINDOWS + 1) :]
    known = [point for point in last if point is not None]
    whole = len(known) == WINDOWS + 1
    return Recovery(
        (
            _exceeds(view, known[1:], whole),
            _count_falls(view, known, whole),
            _age_falls(view, known, whole),
            _failures(view, known[1:], whole),
            _dependencies(view, known[1:], whole),
            _age_inside(view),
            Condition("set_aside", _word(not view.quarantined), {"n": view.quarantined}),
            Condition("restraints", _word(not view.restraints), {"n": view.restraints}),
            _ledger(view.ledger),
        )
    )


def _word(holds: bool) -> str:
    return "holds" if holds else "fails"


def _exceeds(view: View, minutes: Sequence[Point], whole: bool) -> Condition:
    inflow, completed = sum(p.inflow for p in minutes), sum(p.completed for p in minutes)
    facts = {"inflow": inflow / WINDOWS, "completed": completed / WINDOWS}
    if not whole:
        return Condition("exceeds", "unknown")
    return Condition("exceeds", _word(completed > inflow or _small(view, completed)), facts)


def _small(view: View, completed: int) -> bool:
    return view.waiting <= max(SMALL, completed / WINDOWS)


def _count_falls(view: View, minutes: Sequence[Point], whole: bool) -> Condition:
    """A bulk delete makes a count fall, too, and is no recovery."""
    counts = [point.waiting for point in minutes]
    if not whole or any(count is None for count in counts):
        return Condition("count", "unknown")
    removed = sum(point.counts.get(event, 0) for point in minutes[1:] for event in REMOVED)
    completed = sum(point.completed for point in minutes[1:])
    facts = {"before": counts[0], "now": view.waiting, "removed": removed, "completed": completed}
    if removed > max(completed, SMALL):
        return Condition("count", "fails", facts)
    return Condition("count", _word(_falls(counts) or _small(view, completed)), facts)


def _age_falls(view: View, minutes: Sequence[Point], whole: bool) -> Condition:
    if view.oldest_age is None:
        return Condition("age", "holds", {"before": None, "now": None})
    ages = [point.oldest_age or 0.0 for point in minutes]
    facts = {"before": ages[0] if ages else None, "now": view.oldest_age}
    if view.oldest_age <= view.max_age / 2:
        return Condition("age", "holds", facts)
    return Condition("age", _word(_falls(ages)) if whole else "unknown", facts)


def _falls(values: Sequence[float | int | None]) -> bool:
    known = [value for value in values if value is not None]
    return all(b <= a for a, b in pairwise(known)) and known[-1] < known[0]


def _failures(view: View, minutes: Sequence[Point], whole: bool) -> Condition:
    usual = [share for point in view.usual if point and (share := _share([point])) is not None]
    now = _share(minutes)
    facts = {"now": now, "usual": median(usual) if usual else None}
    if not whole or (now and not usual):
        return Condition("failures", "unknown", facts)
    most = median(usual) if usual else 0.0
    return Condition("failures", _word(not now or now <= max(FAILURES * most, most + SHARE)), facts)


def _dependencies(view: View, minutes: Sequence[Point], whole: bool) -> Condition:
    """Each is inside its band; one that was used in the last day and not lately is unknown, not well."""
    found = dependencies(minutes, view.usual)
    facts: dict[str, Any] = {"n": len(found)}
    if not found:
        return Condition("dependencies", "holds", facts)
    above = [one for one in found if one.state == "above"]
    if above:
        worst = max(above, key=lambda one: (one.p95 or 0) / (one.usual or 1))
        return Condition("dependencies", "fails", {**facts, "name": worst.name, "p95": worst.p95, "usual": worst.usual})
    if unclear := [one for one in found if one.state != "inside"]:
        return Condition("dependencies", "unknown", {**facts, "name": unclear[0].name, "silent": unclear[0].calls == 0})
    return Condition("dependencies", _word(True) if whole else "unknown", facts)


def _share(points: Sequence[Point]) -> float | None:
    """Of the attempts, those that failed."""
    failed = sum(point.counts.get("failed_attempt", 0) for point in points)
    ended = failed + sum(point.completed for point in points)
    return failed / ended if ended else None


def _age_inside(view: View) -> Condition:
    inside = view.oldest_age is None or view.oldest_age <= view.max_age
    return Condition("inside", _word(inside), {"age": view.oldest_age, "max_age": view.max_age})


def _ledger(found: Ledger | None) -> Condition:
    """More than was recorded came from producers that count nothing, which is no loss; less is gone without a word."""
    remainder = found.remainder if found else None
    if remainder is None:
        return Condition("ledger", "unknown")
    return Condition("ledger", _word(remainder >= 0), {"remainder": remainder})
