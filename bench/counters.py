"""Memory of the counters, three simulated hours of them."""

from __future__ import annotations

from collections.abc import Iterator

from bench.counters_memory import FUNCTIONS, PER_SECOND, QUEUES, measure
from bench.lab import Lab
from bench.lines import Line, below

BUDGET = 32.0
"""MB after 180 minutes."""


def lines(lab: Lab) -> Iterator[Line]:
    """Bytes of data against the budget, which in a quick run is its part of the time."""
    minutes = 6 if lab.quick else 180
    budget = BUDGET * minutes / 180
    used = measure(minutes)[0] / 2**20
    name = f"counters of {QUEUES} queues x {FUNCTIONS} functions, {minutes} min"
    yield below(name, f"{used:.1f} MB at {PER_SECOND} jobs/s", used, budget, f"< {budget:.1f} MB")
