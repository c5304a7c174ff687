from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queueops.diagnosis.recovery import View, judge
from queueops.rdb.bins import bin_of
from queueops.telemetry.histograms import Histogram
from queueops.telemetry.history import Point, Used
from queueops.telemetry.ledger import Ledger


def minute(
    waiting: int, age: float | None, inflow: int = 58, completed: int = 112, failed: int = 1, **more: int
) -> Point:
    counts = {"accepted": inflow, "completed": completed, "failed_attempt": failed, **more}
    return Point(0, counts, Histogram(), Histogram(), waiting, age)


BALANCED = Ledger("q", 5, 5, {}, {}, 0, 0)
USUAL = [minute(0, None, 50, 50, 1)] * 20
GOOD = View(
    [minute(90, 60.0), minute(70, 40.0), minute(50, 20.0), minute(6, 10.0)], USUAL, 6, 10.0, 30.0, 0, 0, BALANCED
)


def states(view: View) -> dict[str, str]:
    return {condition.name: condition.state for condition in judge(view).conditions}


def test_all_hold() -> None:
    found = judge(GOOD)
    assert found.state == "recovered" and found.count("holds") == 9


def using(p95_ms: int, calls: int = 40, **more: Any) -> dict[str, Used]:
    return {"courier": Used(calls, 0, Histogram({bin_of(p95_ms): calls}, calls * p95_ms * 1000)), **more}


@pytest.mark.parametrize(
    ("now", "state"),
    [(using(200), "holds"), (using(280), "holds"), (using(900), "fails"), ({}, "unknown"),
     (using(200, new=using(5)["courier"]), "unknown")],
)  # fmt: skip
def test_dependencies_stay_inside_their_band(now: dict[str, Used], state: str) -> None:
    minutes = [replace(point, used=now) for point in GOOD.minutes if point]
    usual = [replace(point, used=using(200)) for point in USUAL]
    assert states(replace(GOOD, minutes=minutes, usual=usual))["dependencies"] == state


def test_an_idle_queue_is_recovered() -> None:
    quiet = [minute(0, None, 0, 0, 0)] * 4
    assert judge(replace(GOOD, minutes=quiet, waiting=0, oldest_age=None)).state == "recovered"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"minutes": [minute(n, 20.0, 120, 100) for n in (900, 800, 700, 600)], "waiting": 600}, "exceeds"),
        ({"minutes": [minute(n, 20.0) for n in (900, 800, 810, 600)], "waiting": 600}, "count"),
        ({"minutes": [minute(n, 20.0, discarded=300) for n in (900, 600, 300, 0)], "waiting": 0}, "count"),
        ({"minutes": [minute(900 - n, 20.0 + n) for n in range(4)], "waiting": 600, "oldest_age": 23.0}, "age"),
        ({"minutes": [minute(900 - n, 20.0 - n, failed=30) for n in range(4)]}, "failures"),
        ({"oldest_age": 31.0}, "inside"),
        ({"quarantined": 18}, "set_aside"),
        ({"restraints": 2}, "restraints"),
        ({"ledger": replace(BALANCED, remainder=-4)}, "ledger"),
    ],
)
def test_each_condition_is_named_when_it_fails(change: dict[str, Any], name: str) -> None:
    view = replace(GOOD, **change)
    assert states(view)[name] == "fails" and judge(view).state == "not_yet"


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"minutes": [None, *GOOD.minutes[1:]], "oldest_age": 20.0}, {"exceeds", "count", "age", "failures"}),
        ({"minutes": []}, {"exceeds", "count", "failures"}),
        ({"usual": []}, {"failures"}),
        ({"ledger": None}, {"ledger"}),
        ({"ledger": replace(BALANCED, remainder=None)}, {"ledger"}),
    ],
)
def test_what_is_not_known_is_not_held_for_good(change: dict[str, Any], names: set[str]) -> None:
    view = replace(GOOD, **change)
    assert {name for name, state in states(view).items() if state == "unknown"} == names
    assert judge(view).state == "unknown"


def test_unknown_inflow_of_plain_producers_is_no_loss() -> None:
    assert states(replace(GOOD, ledger=replace(BALANCED, remainder=12)))["ledger"] == "holds"


def test_failures_that_are_usual_here_hold() -> None:
    often = [minute(0, None, 50, 50, 20)] * 20
    minutes = [minute(n, 5.0, failed=40) for n in (90, 70, 50, 6)]
    assert states(replace(GOOD, usual=often, minutes=minutes))["failures"] == "holds"
