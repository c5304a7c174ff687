"""Round trips and commands per job, counted by the server: the slope between two numbers of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import redis

from bench.lab import Lab
from bench.lines import Line, at_most
from bench.workers import BARE, PLAIN, THREE, Side, drain


@dataclass(frozen=True, slots=True)
class Counts:
    """``reads``: requests that reached the server, each a round trip; ``commands``: run by it, inside scripts too."""

    reads: float
    commands: float


def counts(connection: redis.Redis) -> Counts:
    """What the server has counted since its statistics were reset."""
    stats = connection.info("commandstats")
    return Counts(
        float(connection.info("stats")["total_reads_processed"]),
        float(sum(entry["calls"] for name, entry in stats.items() if not name.startswith(("cmdstat_info",)))),
    )


def slope(lab: Lab, work: Callable[[redis.Redis, int], None], low: int = 20, high: int = 60) -> Counts:
    """What one more job costs: starting and stopping cancel out."""
    taken = []
    for count in (low, low, high):  # the first loads scripts
        with lab.clean() as connection:
            work(connection, count)
            taken.append(counts(connection))
    step = high - low
    return Counts((taken[2].reads - taken[1].reads) / step, (taken[2].commands - taken[1].commands) / step)


def enqueue_cost(lab: Lab, side: Side) -> Counts:
    """One ``enqueue``."""
    return slope(lab, side.fill)


def run_cost(lab: Lab, side: Side, forking: bool) -> Counts:
    """From the claim of a job to its settled end, the work horse's own connection included."""

    def work(connection: redis.Redis, count: int) -> None:
        side.fill(connection, count)
        connection.config_resetstat()
        lab.apart(drain, lab.url, side, forking)

    return slope(lab, work)


def lines(lab: Lab) -> Iterator[Line]:
    """Enqueue, in-process, forking; with 0 and 3 controls."""
    for name, most, measure in (
        ("enqueue", 1.0, lambda side: enqueue_cost(lab, side)),
        ("claim to settle, in-process", 4.0, lambda side: run_cost(lab, side, False)),
        ("claim to settle, forking", 8.0, lambda side: run_cost(lab, side, True)),
    ):
        plain = measure(PLAIN)
        for side in (BARE, THREE):
            ours = measure(side)
            yield at_most(
                f"round trips, {name}, {side.name}",
                f"{ours.reads:.1f}, {ours.commands:.0f} commands (plain RQ {plain.reads:.1f}, {plain.commands:.0f})",
                ours.reads,
                most,
                f"<= {most:g}",
                ours.reads / plain.reads,
            )
