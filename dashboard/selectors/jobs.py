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
from queueops.rdb.client import Server, servers
from queueops.rdb.keys import JOB_FIELDS as F
from queueops.rdb.scripts import run
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


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the hash for display; ``size`` in bytes, ``cut`` when not all of it is shown."""

    name: str
    value: str
    size: int
    cut: bool = False


def _progress(raw: Any, token: str) -> Progress | None:
    """What this run said; nothing of an earlier one."""
    told = decoded(raw)
    done, total = told.get("done"), told.get("total")
    if told.get("token") != token or not token or not isinstance(done, (int, float)):
        return None
    return Progress(done, total if isinstance(total, (int, float)) and total > 0 else None, str(told.get("note") or ""))


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


def _find(job: str) -> tuple[Server, list[Any]] | None:
    """The server that has the job; the others are asked too when one is down."""
    keys, down = store.keys(), None
    for server in servers():
        key = keys.of("rq_job", job)

        def fill(pipe: Any, key: str = key) -> None:
            pipe.time().hmget(key, _PLAIN).exists(key).hstrlen(key, F["claims"])
            for name in _BIG:
                pipe.hstrlen(key, name)
            pipe.hget(keys.static("running"), job)
            pipe.scard(f"{key}:dependents").srandmember(f"{key}:dependents", DEPENDENTS)

        try:
            answers = store.ask(server, fill)
        except store.StoreDown as error:
            down = error
            continue
        if answers[2]:
            return server, answers
    if down is not None:
        raise down
    return None


def job(id_: str, *, full: bool = False) -> Job | None:
    """One job, or None when no server has it. Three round trips on its server."""
    got = _find(id_)
    if got is None:
        return None
    server, answers = got
    keys, key = store.keys(), store.keys().of("rq_job", id_)
    plain = answers[1] if isinstance(answers[1], list) else [None] * len(_PLAIN)
    raw = dict(zip(_PLAIN, plain, strict=True))
    sizes = dict(zip((F["claims"], *_BIG), (store.number(a) for a in answers[3 : 4 + len(_BIG)]), strict=True))
    token = shown(answers[4 + len(_BIG)])
    batch = Batch(server.connection)
    wanted = [name for name in ("description", "exc_info", F["claims"]) if 0 < sizes[name] <= READ]
    fetched = {name: batch.call("hget", key, name) for name in wanted}
    lease = batch.call("hget", keys.static("leases"), token) if token else None
    end = batch.call("zscore", keys.static("lease_ends"), token) if token else None
    with store.guard(server):
        batch.run()
        kept = results(run(server.connection, "job_results", id_, MOST, LONGEST), _inflated)
    values = {name: slot.get(b"") for name, slot in fetched.items()}
    error = _inflated(values.get("exc_info", b"")) or next((result.error for result in kept if result.error), "")
    dependents = answers[6 + len(_BIG)] if isinstance(answers[6 + len(_BIG)], list) else []
    times = {name: at for name in _TIMES if (at := from_iso(raw[name]))}
    hidden = {*_TIMES, "status", "origin", "worker_name", "retries_left", "repeats_left", "dependency_ids", *F.values()}
    return Job(
        server=server.alias,
        id=id_,
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
        now=from_time(answers[0]),
        parked=shown(raw[F["parked"]]),
        quarantined=shown(raw[F["quarantined"]]),
        worker=shown(raw["worker_name"]),
        claims=_claims(values.get(F["claims"], b"")),
        lease=decoded(lease.get()) or None if lease else None,
        lease_end=store.number(end.get()) if end else 0,
        replay_of=shown(raw[F["replay_of"]]),
        replayed_as=shown(raw[F["replayed_as"]]),
        data_size=sizes["data"],
        tags=tags(shown(raw[F["tags"]])),
        retries_left=number(raw["retries_left"]),
        repeats_left=number(raw["repeats_left"]),
        depends_on=_ids(raw["dependency_ids"]),
        dependents=tuple(sorted(shown(each) for each in dependents)),
        more_dependents=max(0, store.number(answers[5 + len(_BIG)]) - len(dependents)),
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
