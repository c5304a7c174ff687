"""One job as plain fields of its hash. ``data`` and ``meta`` are never read: the web does not unpickle."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import store
from dashboard.selectors.attempts import LONGEST, MOST, Result, results
from dashboard.selectors.job_lists import job_state
from queueops.rdb.client import Server
from queueops.rdb.keys import JOB_FIELDS as F
from queueops.telemetry.batch import Batch, decoded, number, shown
from queueops.telemetry.clock import from_iso, from_time
from queueops.telemetry.job_pages import tags

SHORT = 4_000
"""Characters of a long field shown at once."""
LONG = 200_000
"""Characters shown on demand; a longer field is named with its size only."""
DEPENDENTS = 20
"""Jobs named that this one waits for, and that wait for it."""
READ = 1_000_000
"""Bytes of one field that a page is willing to fetch."""
SHOWN = 10**15
"""The largest figure of a progress; another process may write anything."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the hash for display; ``size`` in bytes, ``cut`` when not all of it is shown."""

    name: str
    value: str
    size: int
    cut: bool = False


def _figure(value: Any) -> float | None:
    return value if type(value) in (int, float) and 0 <= value <= SHOWN else None


def _progress(raw: Any, token: str) -> Progress | None:
    """What this run said; nothing of an earlier one."""
    told = decoded(raw)
    done, total = _figure(told.get("done")), _figure(told.get("total"))
    if told.get("token") != token or not token or done is None:
        return None
    return Progress(done, total or None, str(told.get("note") or ""))


@dataclass(frozen=True, slots=True)
class Job:
    """One job in full, without its pickled parts. Times in µs."""

    server: str
    id: str
    state: str
    status: str
    function: str
    queue: str
    description: Field
    error: Field
    fields: tuple[Field, ...]
    times: Mapping[str, int]
    attempts: int
    failures: int
    crashes: int
    parkings: int
    since: int
    now: int
    parked: str
    quarantined: str
    worker: str
    claims: tuple[Mapping[str, Any], ...]
    lease: Mapping[str, Any] | None
    lease_end: int
    replay_of: str
    replayed_as: str
    data_size: int
    tags: tuple[str, ...]
    retries_left: int | None
    repeats_left: int | None
    depends_on: tuple[str, ...]
    dependents: tuple[str, ...]
    more_dependents: int
    results: tuple[Result, ...]
    progress: Progress | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the running job says it is; ``total`` None when it does not know."""

    done: float
    total: float | None
    note: str


_BIG = ("description", "exc_info", "data", "meta", "result")
_TIMES = ("created_at", "enqueued_at", "started_at", "ended_at", "last_heartbeat")
_OTHER = (
    "timeout", "result_ttl", "failure_ttl", "ttl", "retries_left", "retry_intervals", "number_of_retries",
    "repeats_left", "repeat_intervals", "dependency_ids", "success_callback_name", "failure_callback_name", "group_id",
)  # fmt: skip
_PLAIN = ("status", "origin", "worker_name", *_OTHER, *_TIMES, *(v for k, v in F.items() if k != "claims"))


class JobReader:
    """One job on one server, in two batches: its plain fields and the sizes of the others, then those worth showing."""

    def __init__(self, batch: Batch, server: Server, id_: str) -> None:
        keys, key = store.keys(), store.keys().of("rq_job", id_)
        self._server, self._id, self._key = server.alias, id_, key
        self._time = batch.call("time")
        self._plain = batch.call("hmget", key, _PLAIN)
        self._exists = batch.call("exists", key)
        self._sizes = {name: batch.call("hstrlen", key, name) for name in (F["claims"], *_BIG)}
        self._token = batch.call("hget", keys.static("running"), id_)
        self._count = batch.call("scard", f"{key}:dependents")
        self._some = batch.call("srandmember", f"{key}:dependents", DEPENDENTS)
        self._results = batch.script("job_results", id_, MOST, LONGEST)

    @property
    def found(self) -> bool:
        """Once the first batch has run: the server has the job."""
        return bool(self._exists.number())

    @property
    def created(self) -> int:
        """When, by the clock of whoever made it (µs); 0 when unknown."""
        return from_iso(self._raw()["created_at"]) or 0

    def _raw(self) -> dict[str, Any]:
        return dict(zip(_PLAIN, self._plain.get([None] * len(_PLAIN)), strict=True))

    def more(self, batch: Batch) -> None:
        """Ask for what the first answers lead to."""
        keys, token = store.keys(), shown(self._token.get())
        wanted = ("description", "exc_info", F["claims"])
        self._values = {
            name: batch.call("hget", self._key, name) for name in wanted if 0 < self._sizes[name].number() <= READ
        }
        self._lease = batch.call("hget", keys.static("leases"), token) if token else None
        self._end = batch.call("zscore", keys.static("lease_ends"), token) if token else None

    def job(self, full: bool) -> Job:
        """The job; ``full``: its long fields, too."""
        raw, kept = self._raw(), results(self._results.get([]), _inflated)
        sizes = {name: slot.number() for name, slot in self._sizes.items()}
        values = {name: slot.get(b"") for name, slot in self._values.items()}
        error = _inflated(values.get("exc_info", b"")) or next((result.error for result in kept if result.error), "")
        dependents = self._some.get([])
        times = {name: at for name in _TIMES if (at := from_iso(raw[name]))}
        hidden = {*_TIMES, "status", "origin", "worker_name", "retries_left", "repeats_left", "dependency_ids"}
        hidden |= {*F.values()}
        return Job(
            server=self._server,
            id=self._id,
            state=job_state(shown(raw["status"]), raw[F["parked"]] is not None, raw[F["quarantined"]] is not None),
            status=shown(raw["status"]),
            function=shown(raw[F["func"]]),
            queue=shown(raw["origin"]),
            description=_field("description", shown(values.get("description")), sizes["description"], full),
            error=_field("exc_info", error, len(error), full),
            fields=tuple(
                _field(name, shown(raw[name]), len(raw[name]), full)
                for name in _PLAIN
                if raw[name] not in (None, b"") and name not in hidden
            ),
            times=times,
            attempts=store.number(raw[F["attempts"]]),
            failures=store.number(raw[F["failures"]]),
            crashes=store.number(raw[F["crashes"]]),
            parkings=store.number(raw[F["parkings"]]),
            since=store.number(raw[F["since"]]),
            now=from_time(self._time.get((0, 0))),
            parked=shown(raw[F["parked"]]),
            quarantined=shown(raw[F["quarantined"]]),
            worker=shown(raw["worker_name"]),
            claims=_claims(values.get(F["claims"], b"")),
            lease=decoded(self._lease.get()) or None if self._lease else None,
            lease_end=store.number(self._end.get()) if self._end else 0,
            replay_of=shown(raw[F["replay_of"]]),
            replayed_as=shown(raw[F["replayed_as"]]),
            data_size=sizes["data"],
            tags=tags(shown(raw[F["tags"]])),
            retries_left=number(raw["retries_left"]),
            repeats_left=number(raw["repeats_left"]),
            depends_on=_ids(raw["dependency_ids"]),
            dependents=tuple(sorted(shown(each) for each in dependents)),
            more_dependents=max(0, self._count.number() - len(dependents)),
            progress=_progress(raw[F["progress"]], shown(raw[F["token"]])),
            results=kept,
        )


def _field(name: str, value: str, size: int, full: bool) -> Field:
    limit = LONG if full else SHORT
    if not value and size:
        return Field(name, "", size, cut=True)
    return Field(name, value[:limit], size, cut=len(value) > limit)


def _claims(raw: Any) -> tuple[Mapping[str, Any], ...]:
    try:
        value = json.loads(raw or "[]")
    except ValueError:
        return ()
    return tuple(c for c in value if isinstance(c, dict))[:50] if isinstance(value, list) else ()


def _inflated(raw: bytes, limit: int = READ) -> str:
    """RQ's compressed traceback; a bomb is cut at ``limit`` bytes, text that is not compressed is shown as it is."""
    if not raw:
        return ""
    try:
        return zlib.decompressobj().decompress(raw, limit).decode("utf-8", "replace")
    except zlib.error:
        return shown(raw)


def _ids(raw: Any) -> tuple[str, ...]:
    """Ids in a JSON list."""
    try:
        value = json.loads(raw or "[]")
    except ValueError:
        return ()
    return tuple(str(each) for each in value)[:DEPENDENTS] if isinstance(value, list) else ()
