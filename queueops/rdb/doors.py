"""The doors as typed calls: what goes into each script and what comes out.

Times are seconds here and µs in Redis. Every function is one round trip.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from redis.client import Pipeline
from redis.exceptions import RedisError, ResponseError

from queueops.rdb import mending, scripts
from queueops.rdb.client import Server
from queueops.rdb.scripts import run

MICRO = 1_000_000


def now_text() -> tuple[str, str]:
    """This host's time as RQ writes it (ISO, and seconds): for RQ's display fields only, never for a decision."""
    at = time.time()
    iso = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return iso, f"{at:.6f}"


def prepare() -> None:
    """Build the scripts of a run in this process, so that its forks have them (a work horse would build them anew)."""
    for name in ("claim", "adopt", "renew", "settle"):
        scripts.script(name)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that this worker may run now: its lease is ours, its hash as it stands."""

    job_id: str
    queue: str
    adopt: bool
    fields: dict[bytes, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing may run. ``wait``: seconds until time itself may change that, None if nothing is due."""

    wait: float | None
    parked: int
    more: bool = False
    """The bound of one call was reached: ask again at once."""
    dependents: bool = False
    """Jobs have ended whose dependents nobody has looked at."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No claim was made: ``why`` is SUSPENDED (RQ's own), QUIET (an operator said so)
    or MIRROR_MISSING (rebuild it, then ask again)."""

    why: str


def claim(
    connection: Any,
    worker: str,
    token: str,
    queues: Sequence[str],
    *,
    previous: str = "",
    span: float,
    simple: bool = False,
    idle: bool = True,
    worker_ttl: int = 480,
) -> Claimed | Empty | Refused:
    """Ask for the next job of ``queues`` (strict order). The same token asked twice gets the same job."""
    iso, seconds = now_text()
    out = run(
        connection,
        "claim",
        worker,
        token,
        previous,
        json.dumps(list(queues)),
        int(span * MICRO),
        int(simple),
        int(idle),
        worker_ttl,
        iso,
        seconds,
    )
    code = out[0]
    if code == b"JOB":
        return Claimed(out[1].decode(), out[2].decode(), bool(out[3]), dict(zip(out[5::2], out[6::2], strict=True)))
    if code == b"EMPTY":
        wait = int(out[1])
        return Empty(None if wait < 0 else wait / MICRO, int(out[2]), bool(out[3]), bool(out[4]))
    return Refused(code.decode())


@dataclass(frozen=True, slots=True)
class Enqueued:
    """``code`` is OK, EXISTS (unique id taken), DUPLICATE (an open job has this id), or of a unique lock HELD,
    REJECTED, COALESCED, WAITS; ``detail`` is then the id of the other job."""

    code: str
    detail: str = ""
    how: str = ""
    """Of HELD: what the lock says about conflicts."""


def enqueue(
    target: Any,
    *,
    mode: str,
    job_id: str,
    queue: str,
    function: str,
    mapping: Mapping[str, Any],
    at_front: bool = False,
    due: str = "0",
    ttl: int = 0,
    unique: bool = False,
    uniques: str = "",
) -> Enqueued | None:
    """Pass a job through the enqueue door; on a pipeline the answer is None and stands in the pipeline's results.

    ``due`` is a Unix time in seconds, or ``+seconds`` from the store's now.
    """
    args: list[Any] = [mode, job_id, queue, int(at_front), due, function, ttl, int(unique), uniques]
    for name, value in mapping.items():
        args += [name, value]
    if isinstance(target, Pipeline):
        on_pipeline(target, "enqueue", args)
        return None
    return enqueued(run(target, "enqueue", *args))


def enqueued(out: Any) -> Enqueued:
    """The answer of the enqueue door, also as it stands in a pipeline's results."""
    return Enqueued(*(part.decode() if isinstance(part, bytes) else str(part) for part in out))


def on_pipeline(pipeline: Pipeline, name: str, args: Iterable[Any]) -> None:
    """Put a script call on a caller's pipeline, which makes sure of the script before it runs."""
    loaded = scripts.script(name)
    pipeline.register_script(loaded.source)(args=list(args), client=pipeline)


def _plain(text: str) -> str:
    """Text as the script can read it (no lone surrogates), and no longer than a line of the changelog may be."""
    return text[:1000].encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class Settled:
    """``code`` is OK, LOST or DEPENDENTS (both: nothing was changed); ``outcome`` is what was recorded."""

    code: str
    outcome: str = ""
    dependents: bool = False


def settle(
    connection: Any,
    token: str,
    outcome: str,
    *,
    commands: Sequence[Sequence[Any]] = (),
    **options: Any,
) -> Settled:
    """End the run of ``token``: replay RQ's commands, give back holds, count once, wake the next.

    Options (JSON): function, job, error, fingerprint, reason, seconds, delay, guard, repeats, stopped, quarantine,
    kind, breakers, dependencies; see ``lua/settle.lua``.
    """
    told = {name: _plain(value) if isinstance(value, str) else value for name, value in options.items()}
    args: list[Any] = [token, outcome, json.dumps(told), len(commands)]
    for command in commands:
        args.append(len(command))
        args += command
    out = run(connection, "settle", *args)
    if out[0] == b"OK":
        return Settled("OK", out[1].decode(), bool(out[2]))
    return Settled(out[0].decode())


def renew(connection: Any, token: str, worker_ttl: int, queues: Sequence[str] = ()) -> bool:
    """Extend a lease; False means that it is lost and the run must stop. ``queues``: those the worker serves."""
    return bool(run(connection, "renew", token, worker_ttl, *now_text(), *queues)[0] == b"OK")


def adopt(
    connection: Any,
    token: str,
    claims: str,
    function: str,
    policy: str,
    span: float,
    simple: bool,
    uniques: str = "",
    fields: Iterable[Any] = (),
) -> str:
    """Give a job of plain RQ its claims: TAKEN, PARKED, QUARANTINED, SKIPPED or LOST."""
    answer = run(connection, "adopt", token, claims, function, policy, int(span * MICRO), int(simple), uniques, *fields)
    return str(answer[0].decode())


def take(connection: Any, job_id: str, queue: str, function: str, token: str, span: float) -> str | None:
    """All claims of a job that runs in its caller; the instance (or word: MIRROR_MISSING, running,
    paused …) that refused, None when taken.
    """
    out = run(connection, "take", job_id, queue, function, token, int(span * MICRO), *now_text())
    return None if out[0] == b"TAKEN" else out[-1].decode()


def forget(target: Any, job_id: str, queue: str, event: str) -> None:
    """Out of our indexes, before RQ deletes or cancels a job; counts ``event`` if it was open."""
    if isinstance(target, Pipeline):
        on_pipeline(target, "forget", [job_id, queue, event])
    else:
        run(target, "forget", job_id, queue, event)


def tick(server: Server) -> tuple[int, int, int, int]:
    """What time brings on queues without workers: (leases ended, lines looked at, jobs moved, parked looked at)."""
    return tuple(run(server.connection, "tick", json.dumps(list(server.queues)), now_text()[0]))  # type: ignore[return-value]


def publish(connection: Any, release: str, definitions: Mapping[str, Mapping[str, Any]]) -> int:
    """Publish the definitions of one release; the number that changed what is in force."""
    args: list[Any] = [release]
    for control, definition in definitions.items():
        args += [control, json.dumps(definition)]
    return int(run(connection, "publish", *args)) if definitions else 0


def wait_for_bell(connection: Any, key: str, seconds: float) -> None:
    """Block until the bell rings or ``seconds`` have passed."""
    try:
        connection.blpop([key], timeout=max(seconds, 0.005))
    except RedisError as error:
        if not isinstance(error, ResponseError) or not isinstance(scripts.translate(error), scripts.Unreadable):
            raise
        mending.mend(connection, more=[(key, "list")])
    except BaseException:
        # a signal's exception in the middle of an answer: behind Sentinel, redis-py gives the connection back as it is,
        # and the rest of the answer would be taken for that of the next command
        connection.connection_pool.disconnect(inuse_connections=False)
        raise
