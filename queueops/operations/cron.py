"""run_cron: an entry of RQ's cron is enqueued now, through our door, beside its schedule."""

from __future__ import annotations

import json
from typing import Any

from redis.exceptions import RedisError
from rq.utils import NOT_JSON_SERIALIZABLE

from queueops.operations.errors import OperationError, UnknownName
from queueops.operations.interventions import intervene
from queueops.operations.text import checked_name
from queueops.rdb.client import Server, ask_each
from queueops.rq import Queue
from queueops.telemetry.job_pages import CronEntry, read_cron


def run_cron(name: str, *, queue: str = "", actor: str, reason: str) -> str:
    """The id of the new job. ``queue`` chooses where several entries share a name. The schedule stays as it is.

    The arguments are those that the scheduler published as JSON; an entry whose arguments JSON cannot carry is refused.
    """
    checked_name("cron entry", name)
    with intervene("run_now", f"cron {name}", actor=actor, reason=reason) as record:
        server, entry = _entry(name, queue)
        args, kwargs = _value(entry, entry.args, []), _value(entry, entry.kwargs, {})
        options: dict[str, Any] = dict(entry.options)
        if "job_timeout" in options:
            options["timeout"] = options.pop("job_timeout")
        target = Queue(entry.queue, connection=server.connection)
        try:
            # the plain call: with no commit to wait for, as the audit row is written before
            job = target.original_enqueue_call(entry.function, args=tuple(args), kwargs=kwargs, **options)
        except RedisError:
            raise
        except Exception as error:  # what the project's declarations make of these arguments
            raise OperationError(f"{entry.function} cannot be enqueued: {error}", "cannot_enqueue") from error
        record.after.update(job=job.id, queue=entry.queue, function=entry.function)
    return str(job.id)


def _entry(name: str, queue: str) -> tuple[Server, CronEntry]:
    known: list[str] = []
    found: list[tuple[Server, CronEntry]] = []
    read, silent = ask_each(lambda server: [(server, entry) for entry in read_cron(server)])
    for entries in read:
        for server, entry in entries:
            known.append(entry.name)
            if entry.name == name and (not queue or entry.queue == queue):
                found.append((server, entry))
    if not found:
        raise UnknownName("cron entry", name, known, silent)
    if len(found) > 1:
        listed = ", ".join(repr(entry.queue) for _, entry in found)
        raise OperationError(f"Several cron entries are named {name!r}: say the queue, one of {listed}.", "ambiguous")
    return found[0]


def _value(entry: CronEntry, text: str, empty: Any) -> Any:
    try:
        value = json.loads(text) if text and text != NOT_JSON_SERIALIZABLE else empty
    except ValueError:
        value = None
    if text == NOT_JSON_SERIALIZABLE or not isinstance(value, type(empty)):
        why = "its scheduler could not publish its arguments as JSON; enqueue it from code"
        raise OperationError(f"Cron entry {entry.name!r} cannot be run from here: {why}.", "no_arguments")
    return value
