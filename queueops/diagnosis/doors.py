"""What each of the three doors says to a job now: how it came in, every check of the claim, how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from queueops.diagnosis.job_facts import JobFacts
from queueops.telemetry.batch import number
from queueops.telemetry.clock import from_iso
from queueops.telemetry.instances import InstanceInfo

UNSERVED = 30_000_000
"""A queue that nobody has claimed from for this long (µs) is served by no worker of ours."""
OPEN = ("queued", "scheduled", "deferred", "rate_limited", "ready_to_enqueue", "created")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that the claim door asks. ``what`` is one of: suspended, all, queue, function, isolated, due, parents,
    attempts, control, worker; ``facts`` are the figures behind it (times in µs, spans in seconds).
    """

    what: str
    ok: bool
    name: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    control: InstanceInfo | None = None
    blocks: bool = False
    """The one that it waits for."""


@dataclass(frozen=True, slots=True)
class Doors:
    """``claim``: ahead, refused, passed or over (it ended, or is held); ``settle``: ahead, running or over."""

    accepted: int
    counted: bool
    """False for a job of plain RQ, which passes the first door when it is claimed."""
    claim: str
    settle: str
    checks: tuple[Check, ...]
    started: int
    ended: int
    lease_end: int
    attempts: int
    next_try: int


def _claimed(facts: JobFacts) -> tuple[InstanceInfo, ...]:
    """What it claims; a claim carries its own limit, for as long as nobody has published one."""
    declared = {claim["i"]: number(claim.get("n")) for claim in facts.claims}
    return tuple(row if row.limit is not None else replace(row, limit=declared[row.id]) for row in facts.controls)


def doors(facts: JobFacts) -> Doors:
    """The doors of one job, from what was read."""
    open_ = facts.status in OPEN and not facts.info
    running = bool(facts.lease) or facts.status == "started"
    checks = _checks(facts) if open_ and not running else ()
    refused = any(not check.ok for check in checks)
    started = from_iso((facts.plain["started_at"] or "").encode()) or 0
    if facts.lease:
        started = int(facts.lease.get("started") or started)
    return Doors(
        accepted=from_iso((facts.plain["created_at"] or "").encode()) or 0,
        counted=facts.own["claims"] is not None,
        claim="passed" if running else ("over" if not open_ else "refused" if refused else "ahead"),
        settle="running" if running else "ahead" if open_ else "over",
        checks=checks,
        started=started,
        ended=from_iso((facts.plain["ended_at"] or "").encode()) or 0,
        lease_end=facts.lease_end or 0,
        attempts=number(facts.own["attempts"]) or 0,
        next_try=_next(facts),
    )


def _next(facts: JobFacts) -> int:
    """When time itself brings it forward (µs); 0 when nothing but room or a worker does."""
    if facts.own["parked"] is not None and facts.status == "scheduled":
        return facts.looked_at or 0
    return facts.due or 0 if facts.status == "scheduled" else 0


def _checks(facts: JobFacts) -> tuple[Check, ...]:
    parked = facts.own["parked"] if facts.status == "scheduled" else None
    found: list[Check] = []
    if facts.suspended:
        found.append(Check("suspended", False, blocks=True))
    if "all" in facts.pauses:
        found.append(Check("all", False, facts=facts.pauses["all"], blocks=True))
    paused = facts.pauses.get(f"q:{facts.queue}")
    line = {"before": facts.position, "length": facts.length}
    found.append(Check("queue", not paused, facts.queue, {**line, **(paused or {})}, blocks=bool(paused)))
    if facts.function:
        paused = facts.pauses.get(f"f:{facts.function}")
        isolated = facts.isolations.get(f"f:{facts.function}")
        kind = "isolated" if isolated else "function"
        told = isolated or paused or {}
        found.append(Check(kind, not told, facts.function, told, blocks=bool(told)))
    found += [
        Check("isolated", False, name[2:], record, blocks=True)
        for name, record in facts.isolations.items()
        if not name.startswith("f:")
    ]
    if facts.status == "scheduled" and parked is None and facts.due is not None:
        found.append(Check("due", facts.due <= facts.now, facts={"at": facts.due}, blocks=facts.due > facts.now))
    if facts.status == "deferred":
        waiting = [(job, status) for job, status in facts.parents if status != "finished"]
        found.append(Check("parents", not waiting, facts={"jobs": waiting, "count": len(facts.parents)}, blocks=True))
    counts = {name: number(facts.own[name]) or 0 for name in ("attempts", "failures", "crashes")}
    found.append(Check("attempts", True, facts=counts))
    if parked == "":
        found.append(Check("due", False, facts={"at": facts.looked_at or 0}, blocks=True))
    weights = {claim["i"]: claim.get("w") or 1 for claim in facts.claims}
    for info in _claimed(facts):
        used, limit = info.used + info.offers, info.capacity
        room = limit is None or used + float(weights.get(info.id, 1)) <= limit
        mine = info.id == parked
        place = facts.place + 1 if mine and facts.place is not None else None
        found.append(Check("control", room and not mine, info.name, {"place": place, "room": room}, info, blocks=mine))
    served = facts.served is not None and facts.now - facts.served < UNSERVED
    since = (facts.now - facts.served) / 1e6 if facts.served is not None else None
    found.append(Check("worker", served, facts.queue, {"idle": facts.idle, "since": since}, blocks=not served))
    return tuple(found)
