"""The SQL copy of quarantined jobs, with their payload: for search and history, and to survive an emptied Redis.

The monitor makes it within a second; a verb that selects by a filter makes it first. The list of copies to make is
shortened only after the SQL commit, and only for entries unchanged since they were read; a copy made twice is the same
copy.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from queueops.conf import conf
from queueops.models import QuarantinedJob
from queueops.operations.text import cleaned
from queueops.rdb.client import Server
from queueops.rdb.keys import JOB_FIELDS
from queueops.rdb.scripts import run
from queueops.telemetry.batch import Batch, decoded, number, shown, text

logger = logging.getLogger("queueops.operations")

PAGE = 50
CHUNK = 4_000_000
"""Bytes of payloads fetched in one round trip at most (one larger job comes alone)."""
LARGE = ("data", "meta", "exc_info", "result")
"""The fields of a job hash that can be large."""
PLAIN = ("origin", "description", "func", "replayed_as", "replay_of", "quarantined")
MAX_ID = 255


@dataclass(frozen=True, slots=True)
class Entry:
    """A job on the list: what Redis says of it. ``info`` is the raw text, '' when it left quarantine."""

    job: str
    info: str
    member: bool
    origin: str
    fields: dict[str, str]
    size: int


def sync(server: Server, *, pages: int | None = None, go_on: Callable[[], bool] | None = None) -> int:
    """Copy until the list is empty, or for so many pages, or until told otherwise. Returns how many were copied."""
    copied, looked = 0, 0
    while (pages is None or looked < pages) and (go_on is None or go_on()):
        page, looked = _page(server), looked + 1
        struck = 0
        for part in _chunks(page):
            payloads = _payloads(server, part)
            with transaction.atomic():
                for entry in part:
                    _store(server.alias, entry, payloads.get(entry.job))
            struck += run(server.connection, "copied", *(value for entry in part for value in (entry.job, entry.info)))
        copied += struck
        # what changes while it is copied comes next time, not in circles
        if not struck:
            break
    return copied


def sync_one(server: Server, job_id: str) -> None:
    """Make the copy of one quarantined job now."""
    if len(job_id) <= MAX_ID:
        for part in _chunks(_entries(server, [job_id])):
            payloads = _payloads(server, part)
            with transaction.atomic():
                for entry in part:
                    _store(server.alias, entry, payloads.get(entry.job))


def _page(server: Server) -> list[Entry]:
    todo = conf.keys.static("quarantine_todo")
    raw = server.connection.srandmember(todo, PAGE) or []
    jobs = [job for member in raw if (job := text(member)) is not None and cleaned(job, MAX_ID) == job]
    if len(jobs) < len(raw):
        unfit = [member for member in raw if (job := text(member)) is None or cleaned(job, MAX_ID) != job]
        logger.warning("ids of quarantined jobs that SQL cannot hold exactly: %r", [each[:100] for each in unfit[:5]])
        server.connection.srem(todo, *unfit)
    return _entries(server, jobs)


def _entries(server: Server, jobs: Sequence[str]) -> list[Entry]:
    keys, connection = conf.keys, server.connection
    if not jobs:
        return []
    names = [JOB_FIELDS.get(name, name) for name in PLAIN]
    first = Batch(connection)
    infos = first.call("hmget", keys.static("quarantine_info"), jobs)
    plain = [first.call("hmget", keys.of("rq_job", job), names) for job in jobs]
    sizes = [[first.call("hstrlen", keys.of("rq_job", job), field) for field in LARGE] for job in jobs]
    first.run()
    found, second = [], Batch(connection)
    for job, info, values, size in zip(jobs, infos.get([None] * len(jobs)), plain, sizes, strict=True):
        got = dict(zip(PLAIN, map(shown, values.get([None] * len(names))), strict=True))
        queue = str(decoded(info).get("queue") or got["origin"])
        found.append((job, shown(info), queue, got, size, second.call("zscore", keys.of("quarantined", queue), job)))
    second.run()
    return [
        Entry(job, info, score.get() is not None, queue, got, sum(slot.number() for slot in size))
        for job, info, queue, got, size, score in found
    ]


def _chunks(page: Sequence[Entry]) -> Iterator[list[Entry]]:
    part: list[Entry] = []
    total = 0
    for entry in page:
        if part and total + entry.size > CHUNK:
            yield part
            part, total = [], 0
        part.append(entry)
        total += entry.size
    if part:
        yield part


def _payloads(server: Server, part: Sequence[Entry]) -> dict[str, dict[bytes, bytes]]:
    wanted = [entry for entry in part if entry.member and entry.size <= conf.PAYLOAD_BYTES]
    batch = Batch(server.connection)
    slots = {entry.job: batch.call("hgetall", conf.keys.of("rq_job", entry.job)) for entry in wanted}
    batch.run()
    return {job: slot.get({}) for job, slot in slots.items()}


def _store(server: str, entry: Entry, payload: dict[bytes, bytes] | None) -> None:
    info = decoded(entry.info)
    row = QuarantinedJob.objects.select_for_update().filter(server=server, job_id=entry.job).first()
    if not entry.member and not info:
        _left(row, entry)
        return
    row = row or QuarantinedJob(server=server, job_id=entry.job, quarantined_at=datetime.now(UTC))
    at = number(info.get("at"))
    if at:
        row.quarantined_at = datetime.fromtimestamp(at / 1_000_000, UTC)
    row.queue = cleaned(info.get("queue") or entry.origin, 255)
    row.function = cleaned(info.get("function") or entry.fields["func"], 500)
    row.reason = cleaned(info.get("reason") or entry.fields["quarantined"], 20_000)
    row.error = cleaned(str(info.get("error") or "")[-20_000:], 20_000)
    row.fingerprint = cleaned(info.get("fingerprint") or "", 64)
    row.attempts, row.crashes = max(0, number(info.get("attempts")) or 0), max(0, number(info.get("crashes")) or 0)
    row.replays, row.replay_of = max(0, number(info.get("replays")) or 0), cleaned(entry.fields["replay_of"], 255)
    row.description = cleaned(entry.fields["description"], 5_000)
    row.state, row.replayed_as = QuarantinedJob.State.QUARANTINED, ""
    if payload:
        row.payload_bytes = sum(len(key) + len(value) for key, value in payload.items())
        row.payload = _packed(payload) if row.payload_bytes <= conf.PAYLOAD_BYTES else ""
    elif entry.size:
        row.payload, row.payload_bytes = "", entry.size
    row.save()


def _left(row: QuarantinedJob | None, entry: Entry) -> None:
    """The job is no longer quarantined: the verbs say how it went; else the job itself does."""
    if row is None or row.state != QuarantinedJob.State.QUARANTINED:
        return
    if entry.fields["replayed_as"]:
        row.state, row.replayed_as = QuarantinedJob.State.REPLAYED, cleaned(entry.fields["replayed_as"], 255)
    else:
        row.state = QuarantinedJob.State.LEFT if entry.origin else QuarantinedJob.State.DISCARDED
    row.save()


def _packed(payload: dict[bytes, bytes]) -> str:
    return json.dumps({shown(key): base64.b64encode(value).decode() for key, value in payload.items()})


def unpack(payload: str) -> dict[str, bytes]:
    """The job hash behind a stored payload; empty when it cannot be read."""
    try:
        fields = json.loads(payload or "{}")
        return {str(name): base64.b64decode(value) for name, value in fields.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
