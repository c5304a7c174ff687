"""Everything that Redis knows of one job and of what stands in its way, in a fixed number of round trips.

Nothing is decoded that could run code: ``data`` and ``meta`` are only measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from queueops.conf import conf
from queueops.rdb.client import Server, servers
from queueops.rdb.keys import JOB_FIELDS
from queueops.telemetry.batch import Batch, decoded, shown
from queueops.telemetry.clock import from_time
from queueops.telemetry.controls import InstanceDetail, detail

PLAIN = ("status", "origin", "description", "enqueued_at", "created_at", "ended_at", "started_at", "dependency_ids",
         "dependency_id", "rate_limit_key", "timeout")  # fmt: skip
OWN = ("func", "claims", "since", "token", "attempts", "failures", "crashes", "parked", "error", "quarantined",
       "replay_of", "replayed_as", "replays", "policy")  # fmt: skip
LOOK_AHEAD = 20_000
"""How far into a queue's list a job is looked for."""
PARENTS = 20


@dataclass(slots=True)
class JobFacts:
    """What was read. Times in µs, ``None`` where Redis says nothing."""

    server: Server
    job_id: str
    now: int
    plain: dict[str, str | None]
    own: dict[str, str | None]
    data_bytes: int
    info: dict[str, Any]
    token: str | None
    lease: dict[str, Any] = field(default_factory=dict)
    lease_end: int | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)
    pauses: dict[str, dict[str, Any]] = field(default_factory=dict)
    isolations: dict[str, dict[str, Any]] = field(default_factory=dict)
    suspended: bool = False
    served: int | None = None
    idle: int = 0
    position: int | None = None
    length: int = 0
    due: int | None = None
    looked_at: int | None = None
    in_failed: bool = False
    line: InstanceDetail | None = None
    place: int | None = None
    pump: int | None = None
    parents: tuple[tuple[str, str], ...] = ()
    by_hand: frozenset[str] = frozenset()
    """Tokens of holders that are the ids of jobs."""

    @property
    def known(self) -> bool:
        return any(value is not None for value in self.plain.values()) or bool(self.info) or self.data_bytes > 0

    @property
    def status(self) -> str:
        return self.plain["status"] or ""

    @property
    def queue(self) -> str:
        return self.plain["origin"] or str(self.info.get("queue") or "")

    @property
    def function(self) -> str:
        return self.own["func"] or str(self.info.get("function") or "")


def read(job_id: str) -> JobFacts | None:
    """The facts from whichever server knows the job; None when none does."""
    for server in servers():
        facts = _first(server, job_id)
        if facts.known:
            _second(facts)
            _third(facts)
            return facts
    return None


def _first(server: Server, job_id: str) -> JobFacts:
    keys, batch = conf.keys, Batch(server.connection)
    key = keys.of("rq_job", job_id)
    time = batch.call("time")
    plain = batch.call("hmget", key, PLAIN)
    own = batch.call("hmget", key, [JOB_FIELDS[name] for name in OWN])
    data = batch.call("hstrlen", key, "data")
    info = batch.call("hget", keys.static("quarantine_info"), job_id)
    token = batch.call("hget", keys.static("running"), job_id)
    suspended = batch.call("exists", keys.static("rq_suspended"))
    batch.run()
    facts = JobFacts(
        server=server,
        job_id=job_id,
        now=from_time(time.get((0, 0))),
        plain=_named(PLAIN, plain.get()),
        own=_named(OWN, own.get()),
        data_bytes=data.number(),
        info=decoded(info.get()),
        token=shown(token.get()) or None,
        suspended=bool(suspended.number()),
    )
    facts.claims = _claims(facts.own["claims"])
    return facts


def _named(names: tuple[str, ...], values: list[bytes | None] | None) -> dict[str, str | None]:
    values = values or [None] * len(names)
    return {name: None if raw is None else shown(raw) for name, raw in zip(names, values, strict=True)}


def _claims(raw: str | None) -> list[dict[str, Any]]:
    try:
        found = json.loads(raw or "[]")
    except ValueError:
        return []
    if not isinstance(found, list):
        return []
    return [claim for claim in found if isinstance(claim, dict) and isinstance(claim.get("i"), str)]


def _second(facts: JobFacts) -> None:
    keys, batch = conf.keys, Batch(facts.server.connection)
    job, queue, function = facts.job_id, facts.queue, facts.function
    pause_fields = ["all", f"q:{queue}", f"f:{function}"]
    isolation_fields = [
        f"f:{function}",
        f"e:{facts.own['error'] or ''}",
        *(f"k:{claim['i']}" for claim in facts.claims),
    ]
    paused = batch.call("hmget", keys.static("paused"), pause_fields)
    isolated = batch.call("hmget", keys.static("isolated"), isolation_fields)
    lease = batch.call("hget", keys.static("leases"), facts.token or "")
    lease_end = batch.call("zscore", keys.static("lease_ends"), facts.token or "")
    served = batch.call("hget", keys.static("served"), queue)
    idle = batch.call("zcount", keys.of("idle", queue), facts.now - 5_000_000, "+inf")
    position = batch.call("lpos", keys.of("rq_queue", queue), job, maxlen=LOOK_AHEAD)
    length = batch.call("llen", keys.of("rq_queue", queue))
    due = batch.call("zscore", keys.of("rq_scheduled", queue), job)
    looked_at = batch.call("zscore", keys.of("parked", queue), job)
    failed = batch.call("zscore", keys.of("rq_failed", queue), job)
    place = batch.call("zrank", keys.of("line", facts.own["parked"] or ""), job)
    pump = batch.call("zscore", keys.static("pump"), facts.own["parked"] or "")
    batch.run()
    facts.pauses = _in_force(pause_fields, paused.get(), facts.now)
    facts.isolations = _in_force(isolation_fields, isolated.get(), facts.now)
    facts.lease = decoded(lease.get()) if facts.token else {}
    facts.lease_end = _us(lease_end.get())
    facts.served = _us(shown(served.get()) or None)
    facts.idle, facts.length = idle.number(), length.number()
    facts.position, facts.place = position.get(), place.get()
    seconds = due.get()
    facts.due = None if seconds is None else _us(seconds * 1_000_000)
    facts.looked_at, facts.pump = _us(looked_at.get()), _us(pump.get())
    facts.in_failed = failed.get() is not None


def _in_force(fields: list[str], values: list[bytes | None] | None, now: int) -> dict[str, dict[str, Any]]:
    found = {}
    for name, raw in zip(fields, values or [None] * len(fields), strict=True):
        if raw is None:
            continue
        record = decoded(raw)
        until = record.get("until") or 0
        if not isinstance(until, (int, float)) or until == 0 or until > now:
            found[name] = record
    return found


def _us(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if abs(number) < 1e18 else None


def _third(facts: JobFacts) -> None:
    """What depends on the state: the line that it waits in, or the jobs that it waits for."""
    instance = facts.own["parked"]
    if instance and not instance.startswith("P:"):
        facts.line = detail(facts.server, instance, size=20)
        facts.by_hand = by_hand(facts.server, [held.token for held in facts.line.holders if held.orphan])
    if facts.status == "deferred":
        try:
            ids = json.loads(facts.plain["dependency_ids"] or "[]")
        except ValueError:
            ids = []
        parents = [str(each) for each in ids][:PARENTS] if isinstance(ids, list) else []
        batch = Batch(facts.server.connection)
        slots = [batch.call("hget", conf.keys.of("rq_job", parent), "status") for parent in parents]
        batch.run()
        facts.parents = tuple(
            (parent, shown(slot.get()) or "gone") for parent, slot in zip(parents, slots, strict=True)
        )


def by_hand(server: Server, tokens: Sequence[str]) -> frozenset[str]:
    """Those tokens that are ids of jobs Redis knows: a job took the hold itself, under its own id."""
    if not tokens:
        return frozenset()
    batch = Batch(server.connection)
    slots = [batch.call("exists", conf.keys.of("rq_job", token)) for token in tokens]
    batch.run()
    return frozenset(token for token, slot in zip(tokens, slots, strict=True) if slot.number())
