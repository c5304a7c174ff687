"""The SQL copy of quarantined jobs: made within a second by the monitor, and by every verb that selects from it."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

from django.db import transaction

from queueops.conf import conf
from queueops.models import QuarantinedJob
from queueops.operations.clock import to_datetime
from queueops.operations.text import cleaned
from queueops.rdb.client import Server
from queueops.rdb.keys import JOB_FIELDS

logger = logging.getLogger("queueops.operations")

PAGE = 100
FIELDS = ("description", "origin", JOB_FIELDS["replayed_as"], JOB_FIELDS["replay_of"])


def sync(server: Server, most: int = 1000) -> int:
    """Bring the copies of up to ``most`` changed jobs in line with Redis. Returns how many.

    An id leaves the to-do set after its copy is written, and is looked at again if it changed meanwhile.
    """
    todo, done = conf.keys.static("quarantine_todo"), 0
    while done < most:
        ids = server.connection.srandmember(todo, min(PAGE, most - done))
        if not ids:
            break
        seen = _read(server, ids)
        _write(server, ids, seen)
        server.connection.srem(todo, *ids)
        changed = [raw for raw, now, then in zip(ids, _read(server, ids), seen, strict=True) if now[:2] != then[:2]]
        if changed:
            server.connection.sadd(todo, *changed)
        done += len(ids)
    return done


def sync_one(server: Server, job_id: str) -> None:
    """Make the copy of one quarantined job now."""
    raw = job_id.encode("utf-8", "replace")
    _write(server, [raw], _read(server, [raw]))


def _read(server: Server, ids: list[bytes]) -> list[tuple[Any, Any, int]]:
    """Per id: the quarantine record, the plain fields, and the bytes of its data."""
    keys = conf.keys
    pipe = server.connection.pipeline(transaction=True)
    for raw in ids:
        key = keys.of("rq_job", "").encode() + raw
        pipe.hget(keys.static("quarantine_info"), raw)
        pipe.hmget(key, FIELDS)
        pipe.hstrlen(key, "data")
    flat = pipe.execute()
    return [(flat[i], flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3)]


def _write(server: Server, ids: list[bytes], seen: list[tuple[Any, Any, int]]) -> None:
    payloads = _payloads(server, [raw for raw, (info, _, size) in zip(ids, seen, strict=True) if info and size])
    wanted: dict[str, tuple[bytes, Any, Any, int]] = {}
    for raw, (info, fields, size) in zip(ids, seen, strict=True):
        job_id = raw.decode("utf-8", "replace")
        if job_id.encode() != raw or cleaned(job_id, 255) != job_id:
            logger.warning("the id of a quarantined job cannot be stored in SQL exactly: %r", raw[:300])
            continue
        wanted[job_id] = (raw, info, fields, size)
    with transaction.atomic():
        known = {
            row.job_id: row
            for row in QuarantinedJob.objects.filter(server=server.alias, job_id__in=list(wanted)).defer("payload")
        }
        new, old = [], []
        for job_id, (raw, info, fields, size) in wanted.items():
            row = known.get(job_id)
            if info is None:
                if row is not None and row.state == QuarantinedJob.State.QUARANTINED:
                    _left(row, fields)
                    old.append(row)
                continue
            if row is None:
                row = QuarantinedJob(server=server.alias, job_id=job_id)
                new.append(row)
            else:
                old.append(row)
            _fill(row, info, fields, payloads.get(raw), size)
        QuarantinedJob.objects.bulk_create(new, ignore_conflicts=True)
        for row in old:
            row.save(update_fields=[name for name in UPDATED if name != "payload" or row.payload_bytes])


UPDATED = (
    "queue", "function", "reason", "error", "fingerprint", "attempts", "crashes", "replays", "replay_of",
    "quarantined_at", "description", "payload", "payload_bytes", "state", "replayed_as", "changed",
)  # fmt: skip


def _left(row: QuarantinedJob, fields: list[bytes | None]) -> None:
    """It is no longer quarantined; the verbs note their own reason, this is for whatever else happened."""
    as_id = (fields[2] or b"").decode("utf-8", "replace")
    row.state = QuarantinedJob.State.REPLAYED if as_id else QuarantinedJob.State.LEFT
    row.replayed_as = cleaned(as_id, 255)


def _fill(row: QuarantinedJob, info: bytes, fields: list[bytes | None], payload: str | None, size: int) -> None:
    facts = record(info)
    row.queue = cleaned(facts.get("queue", ""), 255)
    row.function = cleaned(facts.get("function", ""), 500)
    row.reason = cleaned(facts.get("reason", ""), 2000)
    row.error = cleaned(facts.get("error", ""), 20_000)
    row.fingerprint = cleaned(facts.get("fingerprint", ""), 64)
    row.attempts = whole(facts.get("attempts"))
    row.crashes = whole(facts.get("crashes"))
    row.replays = whole(facts.get("replays"))
    row.quarantined_at = to_datetime(whole(facts.get("at")))
    row.description = cleaned((fields[0] or b"").decode("utf-8", "replace"), 1000)
    row.replay_of = cleaned((fields[3] or b"").decode("utf-8", "replace"), 255)
    row.state, row.replayed_as = QuarantinedJob.State.QUARANTINED, ""
    if payload is not None:
        row.payload = payload
    row.payload_bytes = size


def record(info: bytes | None) -> dict[str, Any]:
    """A quarantine record of Redis; empty when it cannot be read."""
    try:
        facts = json.loads(info or b"{}")
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def whole(value: object) -> int:
    """A count that cannot be read is 0."""
    return max(0, int(value)) if isinstance(value, (int, float)) else 0


def _payloads(server: Server, ids: list[bytes]) -> dict[bytes, str]:
    """The hashes of jobs that are not too large, as JSON {field: base64}."""
    found: dict[bytes, str] = {}
    for raw in ids:
        key = conf.keys.of("rq_job", "").encode() + raw
        if (server.connection.memory_usage(key, samples=0) or 0) > 4 * conf.PAYLOAD_BYTES:
            continue
        fields = server.connection.hgetall(key)
        if sum(map(len, fields.values())) <= conf.PAYLOAD_BYTES:
            found[raw] = pack(fields)
    return found


def pack(fields: dict[bytes, bytes]) -> str:
    """A job hash as text."""
    return json.dumps(
        {name.decode("utf-8", "replace"): base64.b64encode(value).decode() for name, value in fields.items()}
    )


def unpack(payload: str) -> dict[str, bytes]:
    """The job hash behind :func:`pack`; empty when it cannot be read."""
    try:
        fields = json.loads(payload or "{}")
        return {str(name): base64.b64decode(value) for name, value in fields.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
