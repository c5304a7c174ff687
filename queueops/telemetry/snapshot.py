"""The one snapshot per second that pages, sockets and ``status`` share.

Three round trips whatever the number of queues: what is there; the counts (atomic); the heads behind the ages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import Keys
from queueops.telemetry.batch import Batch, decoded
from queueops.telemetry.buckets import TenReader
from queueops.telemetry.census import Census, CensusReader
from queueops.telemetry.clock import US, from_time, known_since
from queueops.telemetry.discovery import QueueNames, QueueSearch
from queueops.telemetry.events import SAMPLED
from queueops.telemetry.instances import WAITED, InstanceInfo, InstanceReader
from queueops.telemetry.people import Settings, SettingsReader
from queueops.telemetry.rq_limits import RqHeld
from queueops.telemetry.snapshot_json import as_json
from queueops.telemetry.uncounted import Uncounted
from queueops.telemetry.workers import WorkerInfo, WorkerReader

if TYPE_CHECKING:
    from queueops.rdb.client import Server

VERSION = 1
STALE_AFTER = 10.0
"""Seconds after which a snapshot says nothing about now."""
FRESH = 3.0
"""Seconds in which the monitor's snapshot is as good as one made now."""
CONTROLS = 100
"""Instances judged in a snapshot beside those that parked jobs wait for, newest changed first."""


@dataclass(slots=True)
class Memory:
    """What one observer remembers from snapshot to snapshot: closed buckets and uncounted inflow."""

    tens: TenReader
    uncounted: Uncounted


def new_memory(keys: Keys | None = None) -> Memory:
    """The memory of an observer that starts now."""
    return Memory(TenReader(keys or conf.keys, SAMPLED), Uncounted())


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a snapshot is made of, as read."""

    at: int
    server: str
    names: QueueNames
    census: Census
    tens: TenReader
    uncounted: Uncounted
    settings: Settings
    workers: tuple[WorkerInfo, ...]
    workers_known: int
    instances: tuple[InstanceInfo, ...]
    instances_known: int
    gone: Mapping[str, int]
    since: int | None
    duties: Mapping[str, Mapping[str, Any]]
    conflicts: int
    full: bool


def _full(memory: Mapping[str, Any]) -> bool:
    most = memory.get("maxmemory") or 0
    return 0 < most <= (memory.get("used_memory") or 0)


def gather(server: Server, memory: Memory | None = None) -> Facts:
    """Read everything in three round trips."""
    keys = conf.keys
    memory = memory or new_memory(keys)
    tens = memory.tens
    first = Batch(server.connection)
    time, epoch = first.call("time"), first.call("get", keys.static("epoch"))
    counting = first.call("get", keys.static("counting_since"))
    queues = QueueSearch(first, keys, server.queues)
    held, settings = RqHeld(first, keys), SettingsReader(first, keys)
    duties = first.call("hscan", keys.static("monitor_state"), 0, count=100)
    conflicts = first.call("hlen", keys.static("conflicts"))
    memory_use = first.call("info", "memory")
    first.run()
    now, since, names = from_time(time.get((0, 0))), known_since(epoch.get(), counting.get()), queues.result()

    second = Batch(server.connection, atomic=True)
    moment = second.call("time")
    census = CensusReader(second, keys, names.names, held, totals=True)
    tens.plan(second, names.names, now, since)
    people = WorkerReader(second)
    second.run()
    tens.absorb()
    now = from_time(moment.get((0, 0)))

    third = Batch(server.connection)
    census.heads(third)
    controls = InstanceReader(third, newest=CONTROLS, waited=WAITED, owners=True)
    third.run()
    counted, live = census.result(now), controls.read()
    memory.uncounted.add(counted)
    return Facts(
        at=now,
        server=server.alias,
        names=names,
        census=counted,
        tens=tens,
        uncounted=memory.uncounted,
        settings=settings.result(now),
        workers=tuple(people.rows(now, frozenset(names.names))),
        workers_known=people.known,
        instances=live.rows,
        instances_known=live.known,
        gone=live.gone,
        since=since,
        duties={k.decode("utf-8", "replace"): decoded(v) for k, v in duties.get((0, {}))[1].items()},
        conflicts=conflicts.number(),
        full=second.full or _full(memory_use.get({})),
    )


def snapshot(server: Server, *, memory: Memory | None = None, seq: int = 0) -> dict[str, Any]:
    """A fresh snapshot as the JSON object of the shared format. One without ``memory`` knows no uncounted inflow."""
    return as_json(gather(server, memory), seq)


def current(server: Server) -> dict[str, Any]:
    """The monitor's snapshot while it is fresh, else one made now: what a command shows."""
    got, age = latest(server)
    return got if age is not None and age < FRESH else snapshot(server)


def unknown(server: str, why: str) -> dict[str, Any]:
    """What is said when there is no snapshot: unknown, never ok."""
    return {
        "v": VERSION,
        "seq": 0,
        "at": 0,
        "server": server,
        "healthy": False,
        "level": "unknown",
        "health": f"Unknown: {why}",
        "queues": [],
        "workers": {"busy": 0, "idle": 0, "silent": 0},
        "controls": {"full": 0, "waiting": 0},
        "banner": [],
        "totals": {},
        "needs": [],
    }


def latest(server: Server) -> tuple[dict[str, Any], float | None]:
    """The monitor's newest snapshot and its age in seconds by Redis time; one round trip."""
    batch = Batch(server.connection)
    time, raw = batch.call("time"), batch.call("get", conf.keys.static("snapshot"))
    batch.run()
    got = decoded(raw.get())
    if not isinstance(got.get("at"), int):
        return unknown(server.alias, "no monitor has reported in the last 10 seconds."), None
    return got, max(0.0, (from_time(time.get((0, 0))) - got["at"]) / US)


def dumps(value: Mapping[str, Any]) -> str:
    """Compact JSON, ASCII only, without NaN or Infinity."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
