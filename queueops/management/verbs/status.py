"""``queueops status``."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from django.db import DatabaseError
from redis.exceptions import RedisError

from queueops.diagnosis.drain import CAP, Drain
from queueops.diagnosis.wording import moment, span, target
from queueops.management.base import BaseVerb, VerbError, one_line
from queueops.rdb.client import servers
from queueops.telemetry.dependencies import Dependency, measured
from queueops.telemetry.snapshot import snapshot

COLUMNS: tuple[str, ...] = (
    "queue", "oldest", "queued", "parked", "sched.", "defer.", "running", "failed", "quar.", "in/min", "done/min",
    "drain",
)  # fmt: skip
LEVELS = ("ok", "warn", "unknown", "bad")
"""From the best to the worst."""
SHOWN = ("open", "held", "oldest_age", "inflow_per_min", "completed_per_min", "failed_per_min", "paused")


class Verb(BaseVerb):
    name = "status"
    help = "show every queue: what is open and held, how old the oldest job is, what comes in and is completed"

    def handle(self, options: Namespace) -> dict[str, Any]:
        found, errors = [], {}
        for server in servers():
            try:
                found.append(snapshot(server))
            except RedisError as error:
                errors[server.alias] = one_line(error)
        if not found:
            raise VerbError("Redis does not answer: " + "; ".join(errors.values()), code=3)
        workers = {state: sum(one["workers"][state] for one in found) for state in ("busy", "idle", "silent")}
        silent = [name for server in servers() if server.alias in errors for name in server.queues]
        return {
            "at": max(one["at"] for one in found),
            "healthy": not errors and all(one["healthy"] for one in found),
            "level": "unknown" if errors else max((one["level"] for one in found), key=LEVELS.index),
            "health": _health(found, errors),
            "queues": {
                **{q["name"]: _queue(q) for one in found for q in one["queues"]},
                # what another server knows under that name is not the queue of the settings
                **dict.fromkeys(silent),
            },
            "workers": workers,
            "dependencies": {one.name: _dependency(one) for one in _measured([each["at"] for each in found])},
            "notices": [notice for one in found for notice in one["banner"]],
            "errors": errors,
        }

    def render(self, result: dict[str, Any]) -> str:
        lines = [one_line(result["health"])]
        for notice in result["notices"]:
            lines.append(_notice(notice))
        lines += _table([COLUMNS, *(_row(name, queue) for name, queue in result["queues"].items())])
        for name, told in result["dependencies"].items():
            if told["state"] == "above":
                lines.append(
                    f"slower than usual: {one_line(name)}, p95 {told['p95']:.2f} s, usual {told['usual']:.2f} s"
                )
        workers = result["workers"]
        lines.append(f"workers: {workers['busy']} busy, {workers['idle']} idle, {workers['silent']} silent")
        return "\n".join(lines)


def _health(found: list[dict[str, Any]], errors: dict[str, str]) -> str:
    """One text about all servers: what does not answer comes first, and nothing after it says that all is well."""
    said = dict.fromkeys(one["health"] for one in found if not (errors and one["healthy"]))
    if not errors:
        return " ".join(said)
    unknown = [f"the server of {one_line(alias)} does not answer: {why.rstrip('. ')}" for alias, why in errors.items()]
    well = ["What the other servers hold is on time."] if not said else []
    return " ".join([f"Unknown: {'; '.join(unknown)}.", *said, *well])


def _measured(times: list[int]) -> tuple[Dependency, ...]:
    """Nothing where the tables are not there yet: what Redis says is told all the same."""
    try:
        return measured([server.alias for server in servers()], max(times))
    except DatabaseError:
        return ()


def _dependency(one: Dependency) -> dict[str, Any]:
    """Of the last ten minutes; times in seconds."""
    names = ("calls", "errors", "p50", "p95", "p99", "usual", "state")
    return {name: getattr(one, name) for name in names}


def _queue(queue: dict[str, Any]) -> dict[str, Any]:
    found = Drain.of(queue)
    told = {name: getattr(found, name) for name in ("verdict", "seconds", "low", "high", "minutes")}
    return {**{name: queue[name] for name in SHOWN}, "drain": told}


def _drain(told: dict[str, Any]) -> str:
    if told["seconds"] is None:
        return {"empty": "-", "unknown": "?"}.get(told["verdict"], str(told["verdict"]))
    if told["seconds"] > CAP * 60:
        return "over 30 days"
    return span(told["seconds"] * 1_000_000)


NOTICES = {"pause": "paused", "isolate": "isolated", "limit": "limited", "suspended": "suspended"}


def _notice(notice: dict[str, Any]) -> str:
    who = f", by {one_line(notice['by'])}" if notice["by"] else ""
    why = f" ({one_line(notice['reason'])})" if notice["reason"] else ""
    end = f"until {moment(notice['until'])}" if notice["until"] else "until somebody lifts it"
    return f"{NOTICES.get(notice['kind'], notice['kind'])}: {one_line(target(notice['target']))}{who}{why}, {end}"


def _row(name: str, queue: dict[str, Any] | None) -> tuple[str, ...]:
    if queue is None:
        return (one_line(name, 40), *("unknown" if at == 0 else "?" for at in range(len(COLUMNS) - 1)))
    age = queue["oldest_age"]
    rates = (queue["inflow_per_min"], queue["completed_per_min"])
    return (
        one_line(name, 40) + (" (paused)" if queue["paused"] else ""),
        "-" if age is None else span(age * 1_000_000),
        *(str(queue["open"][state]) for state in ("queued", "parked", "scheduled", "deferred", "running")),
        *(str(queue["held"][state]) for state in ("failed", "quarantined")),
        *("-" if rate is None else f"{rate:g}" for rate in rates),
        _drain(queue["drain"]),
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.rjust(width) if at else text.ljust(width) for at, (text, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in rows)
    ]
