"""quiet, unquiet and stop a worker; stop a running job. Told to the worker itself, which carries it out.

They touch one process and end with it, so they live in Redis only: an emptied Redis forgets that a worker was quiet.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rq.command import PUBSUB_CHANNEL_TEMPLATE

from queueops.conf import conf
from queueops.models import Intervention
from queueops.operations.errors import OperationError, UnknownName
from queueops.operations.interventions import intervene
from queueops.operations.names import MOST
from queueops.operations.protocol import run
from queueops.operations.text import checked_name, checked_reason
from queueops.rdb.client import Server, ask_each
from queueops.telemetry.batch import decoded, shown


@dataclass(frozen=True, slots=True)
class WorkerChange:
    """What was told to which worker; ``job`` is what it runs now, "" when nothing is known."""

    worker: str
    job: str
    intervention: Intervention


def quiet(worker: str, *, actor: str, reason: str) -> WorkerChange:
    """Let a worker finish what it runs and start nothing new. It stays alive; :func:`unquiet` undoes it."""
    return _turn(worker, True, actor, reason)


def unquiet(worker: str, *, actor: str, reason: str) -> WorkerChange:
    """Let a quiet worker start jobs again."""
    return _turn(worker, False, actor, reason)


def stop_worker(worker: str, *, actor: str, reason: str) -> WorkerChange:
    """Ask a worker to end after the job it runs. Whoever supervises it may start it anew."""
    checked_reason(reason)
    server = _server_of(worker)
    with intervene("stop worker", worker, actor=actor, reason=reason) as record:
        job = _runs(server, worker)
        record.before(job=job or None)
        _tell(server, worker, command="shutdown")
        record.after = {"asked": worker}
    return WorkerChange(worker, job, record.row)


def stop_job(job_id: str, *, actor: str, reason: str) -> WorkerChange:
    """Kill the process that runs a job now. The job fails as *stopped*: it is neither retried nor quarantined."""
    checked_reason(reason)
    checked_name("job", job_id)
    server, token, lease = _running(job_id)
    worker = str(lease.get("worker") or "")
    if lease.get("simple"):
        raise OperationError(
            f"Worker {worker} runs jobs in its own process, so only the job's timeout ends it. Stop the worker: "
            "a second signal to its process puts the job back.",
            "in_process",
        )
    with intervene("stop", f"job {job_id}", actor=actor, reason=reason) as record:
        record.before(worker=worker, token=token[:8], function=lease.get("function"), queue=lease.get("queue"))
        # by its token: if this run ends meanwhile, the next one is left alone
        _tell(server, worker, command="stop-execution", job_id=job_id, execution_id=token)
        record.after = {"asked": worker}
    return WorkerChange(worker, job_id, record.row)


def _turn(worker: str, on: bool, actor: str, reason: str) -> WorkerChange:
    checked_reason(reason)
    server = _server_of(worker)
    verb = "quiet" if on else "unquiet"
    with intervene(verb, worker, actor=actor, reason=reason) as record:
        before = decoded(server.connection.hget(conf.keys.static("quiet"), worker))
        record.before(quiet=bool(before), by=before.get("by"), because=before.get("reason"))
        if run(server, "quiet", worker, int(on), actor, reason) < 1:
            raise OperationError(f"Worker {worker} is {'quiet already' if on else 'not quiet'}.", "as_it_was")
        record.after = {"quiet": on}
    return WorkerChange(worker, _runs(server, worker), record.row)


def _server_of(worker: str) -> Server:
    """The server that a worker of queueops gives signs of life to."""
    checked_name("worker", worker)
    keys = conf.keys
    known: set[str] = set()

    def look(server: Server) -> Server | None:
        if server.connection.zscore(keys.static("workers"), worker) is not None:
            return server
        known.update(shown(raw) for raw in server.connection.zrevrange(keys.static("workers"), 0, MOST))
        if server.connection.exists(keys.of("rq_worker", worker)):
            raise OperationError(f"Worker {worker} is a plain RQ worker: its own tools control it.", "plain_rq")
        return None

    found, silent = ask_each(look)
    for server in filter(None, found):
        return server
    raise UnknownName("worker", worker, known, silent)


def _running(job_id: str) -> tuple[Server, str, dict[str, Any]]:
    keys = conf.keys

    def look(server: Server) -> tuple[Server, str, dict[str, Any]]:
        token = shown(server.connection.hget(keys.static("running"), job_id))
        return server, token, decoded(server.connection.hget(keys.static("leases"), token)) if token else {}

    found, silent = ask_each(look)
    for running in found:
        if running[2]:
            return running
    text = f"Job {job_id} is not running."
    if silent:
        text += f" The server of {', '.join(server.entry for server in silent)} does not answer: it may run there."
    raise OperationError(text, "not_running")


def _runs(server: Server, worker: str) -> str:
    first = server.connection.srandmember(f"{conf.keys.of('rq_worker', worker)}:executions")
    return shown(first).rpartition(":")[0] if first else ""


def _tell(server: Server, worker: str, **command: str) -> None:
    """RQ's own command channel; refused when no such worker listens, so that nobody waits for nothing."""
    heard = server.connection.publish(PUBSUB_CHANNEL_TEMPLATE % worker, json.dumps(command))
    if not heard:
        raise OperationError(
            f"Worker {worker} does not listen: it is gone, or cannot reach Redis. What it ran goes back to its queue "
            f"when its lease ends, in at most {conf.LEASE:g} s.",
            "not_listening",
        )
