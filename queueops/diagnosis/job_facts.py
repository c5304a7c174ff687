"""Everything that Redis knows of one job and of what stands in its way, in a fixed number of round trips.

Nothing is decoded that could run code: ``data`` and ``meta`` are only measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from queueops.conf import conf
from queueops.rdb.client import Server, servers
from queueops.rdb.keys import JOB_FIELDS
from queueops.telemetry.batch import Batch, decoded, shown
from queueops.telemetry.clock import from_time
from queueops.telemetry.controls import DetailReader, InstanceDetail
from queueops.telemetry.instances import InstanceInfo, InstanceReader

PLAIN = ("status", "origin", "description", "enqueued_at", "created_at", "ended_at", "started_at", "dependency_ids",
         "dependency_id", "rate_limit_key", "timeout")  # fmt: skip
OWN = ("func", "claims", "since", "token", "attempts", "failures", "crashes", "parked", "error", "quarantined",
       "replay_of", "replayed_as", "replays", "policy")  # fmt: skip
LOOK_AHEAD = 20_000
"""How far into a queue's list a job is looked for."""
PARENTS = 20
CONTROLS = 20
"""Controls of one job that are looked at."""


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
    controls: tuple[InstanceInfo, ...] = ()
    """What its claims mean now."""

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


class FactReader:
    """The facts of one job on one server, in two batches: what its id leads to, and what that leads to."""

    def __init__(self, batch: Batch, server: Server, job_id: str) -> None:
        keys, key = conf.keys, conf.keys.of("rq_job", job_id)
        self._server, self._job = server, job_id
        self._time = batch.call("time")
        self._plain = batch.call("hmget", key, PLAIN)
        self._own = batch.call("hmget", key, [JOB_FIELDS[name] for name in OWN])
        self._data = batch.call("hstrlen", key, "data")
        self._info = batch.call("hget", keys.static("quarantine_info"), job_id)
        self._token = batch.call("hget", keys.static("running"), job_id)
        self._suspended = batch.call("exists", keys.static("rq_suspended"))

    @cached_property
    def _facts(self) -> JobFacts:
        own = _named(OWN, self._own.get())
        return JobFacts(
            server=self._server,
            job_id=self._job,
            now=from_time(self._time.get((0, 0))),
            plain=_named(PLAIN, self._plain.get()),
            own=own,
            data_bytes=self._data.number(),
            info=decoded(self._info.get()),
            token=shown(self._token.get()) or None,
            suspended=bool(self._suspended.number()),
            claims=_claims(own["claims"]),
        )

    @property
    def known(self) -> bool:
        """Once the first batch has run: the server knows something of the job."""
        return self._facts.known

    def more(self, batch: Batch) -> None:
        """Ask for what the first answers lead to; :meth:`read` fills it in."""
        facts, keys = self._facts, conf.keys
        job, queue, function = facts.job_id, facts.queue, facts.function
        parked = facts.own["parked"] or ""
        self._pause_fields = ["all", f"q:{queue}", f"f:{function}"]
        claims = [f"k:{claim['i']}" for claim in facts.claims]
        self._isolation_fields = [f"f:{function}", f"e:{facts.own['error'] or ''}", *claims]
        self._paused = batch.call("hmget", keys.static("paused"), self._pause_fields)
        self._isolated = batch.call("hmget", keys.static("isolated"), self._isolation_fields)
        self._lease = batch.call("hget", keys.static("leases"), facts.token or "")
        self._lease_end = batch.call("zscore", keys.static("lease_ends"), facts.token or "")
        self._served = batch.call("hget", keys.static("served"), queue)
        self._idle = batch.call("zcount", keys.of("idle", queue), facts.now - 5_000_000, "+inf")
        self._position = batch.call("lpos", keys.of("rq_queue", queue), job, maxlen=LOOK_AHEAD)
        self._length = batch.call("llen", keys.of("rq_queue", queue))
        self._due = batch.call("zscore", keys.of("rq_scheduled", queue), job)
        self._looked_at = batch.call("zscore", keys.of("parked", queue), job)
        self._failed = batch.call("zscore", keys.of("rq_failed", queue), job)
        self._place = batch.call("zrank", keys.of("line", parked), job)
        self._pump = batch.call("zscore", keys.static("pump"), parked)
        self._line = DetailReader(batch, parked, size=20) if parked and not parked.startswith("P:") else None
        ids = list(dict.fromkeys(claim["i"] for claim in facts.claims))[:CONTROLS]
        self._controls = InstanceReader(batch, ids) if ids else None
        parents = _parents(facts)
        self._parents = [(each, batch.call("hget", keys.of("rq_job", each), "status")) for each in parents]

    def read(self) -> JobFacts:
        """All facts, once the second batch has run."""
        facts = self._facts
        facts.pauses = _in_force(self._pause_fields, self._paused.get(), facts.now)
        facts.isolations = _in_force(self._isolation_fields, self._isolated.get(), facts.now)
        facts.lease = decoded(self._lease.get()) if facts.token else {}
        facts.lease_end = _us(self._lease_end.get())
        facts.served = _us(shown(self._served.get()) or None)
        facts.idle, facts.length = self._idle.number(), self._length.number()
        facts.position, facts.place = self._position.get(), self._place.get()
        seconds = self._due.get()
        facts.due = None if seconds is None else _us(seconds * 1_000_000)
        facts.looked_at, facts.pump = _us(self._looked_at.get()), _us(self._pump.get())
        facts.in_failed = self._failed.get() is not None
        facts.line = self._line.read() if self._line else None
        facts.controls = self._controls.read().rows if self._controls else ()
        facts.parents = tuple((parent, shown(slot.get()) or "gone") for parent, slot in self._parents)
        return facts


def read(job_id: str) -> JobFacts | None:
    """The facts from whichever server knows the job; None when none does. Two round trips, one where it is not."""
    for server in servers():
        first, second = Batch(server.connection), Batch(server.connection)
        reader = FactReader(first, server, job_id)
        first.run()
        if reader.known:
            reader.more(second)
            second.run()
            return reader.read()
    return None


def _parents(facts: JobFacts) -> list[str]:
    """The jobs that it waits for."""
    if facts.status != "deferred":
        return []
    try:
        ids = json.loads(facts.plain["dependency_ids"] or "[]")
    except ValueError:
        return []
    return [str(each) for each in ids][:PARENTS] if isinstance(ids, list) else []


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
