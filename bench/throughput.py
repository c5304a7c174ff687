"""Enqueue and run: rates of plain RQ and ours in interleaved repetitions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import redis

from bench.lab import Lab
from bench.lines import Line, at_least, median_ratio
from bench.workers import PLAIN, SIDES, Side, drain

BUDGETS = {
    ("in-process", "3 controls", "same CPU"): 1.7,
    ("in-process", "3 controls", "two CPUs"): 3.0,
    ("forking", "3 controls", "same CPU"): 1.2,
    ("forking", "3 controls", "two CPUs"): 1.4,
}


def lines(lab: Lab) -> Iterator[Line]:
    """Enqueue, in-process and forking rates on one CPU and across two."""
    repetitions = 3 if lab.quick else 5

    def enqueue(side: Side, cpu: int | None) -> float:
        count = 200 if lab.quick else 600
        lab.clean().close()
        return count / lab.apart(_enqueue, lab.url, side, count, cpu=cpu)

    def run(forking: bool, count: int) -> Callable[[Side, int | None], float]:
        def measure(side: Side, cpu: int | None) -> float:
            with lab.clean() as connection:
                side.fill(connection, count)
            return count / lab.apart(drain, lab.url, side, forking, cpu=cpu)

        return measure

    kinds = {
        "enqueue": (enqueue, "jobs/s"),
        "in-process": (run(False, 100 if lab.quick else 250), "jobs/s"),
        "forking": (run(True, 25 if lab.quick else 60), "jobs/s"),
    }
    for kind, (measure, unit) in kinds.items():
        for place, cpu in lab.places.items():
            rates: dict[str, list[float]] = {side.name: [] for side in SIDES}
            for turn in range(repetitions):
                for side in SIDES if turn % 2 else reversed(SIDES):
                    rates[side.name].append(measure(side, cpu))
            base = rates[PLAIN.name]
            for name, values in rates.items():
                if name != PLAIN.name:
                    yield at_least(
                        f"{kind}, {name}, {place}",
                        f"{statistics.median(values):,.0f} {unit} (plain RQ {statistics.median(base):,.0f})",
                        median_ratio(values, base),
                        BUDGETS.get((kind, name, place)),
                    )


def _enqueue(url: str, side: Side, count: int) -> float:
    connection = redis.Redis.from_url(url)
    side.fill(connection, 5)  # connect, load the script
    start = time.perf_counter()
    side.fill(connection, count)
    return time.perf_counter() - start
