"""Pages of quarantined jobs as Redis has them (membership there decides), newest first; three round trips."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queueops.conf import conf
from queueops.rdb.keys import JOB_FIELDS
from queueops.telemetry.batch import Batch, Slot, decoded, number, shown, text
from queueops.telemetry.discovery import QueueSearch

if TYPE_CHECKING:
    from queueops.rdb.client import Server

TIES = 100
"""Entries of the very same µs that a page boundary copes with."""
FIELDS = ("description", "created_at", JOB_FIELDS["replay_of"], JOB_FIELDS["replays"], JOB_FIELDS["func"])


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A job set aside. ``at`` in µs. ``intact`` is false when its data is gone from Redis (see the SQL copy)."""

    job: str
    queue: str
    function: str
    kind: str
    reason: str
    error: str
    fingerprint: str
    attempts: int
    crashes: int
    replays: int
    replay_of: str
    at: int
    description: str
    intact: bool


@dataclass(frozen=True, slots=True)
class QuarantinePage:
    """``counts`` per queue are of all; ``next`` is the cursor of the following page."""

    rows: tuple[Quarantined, ...]
    counts: dict[str, int]
    next: str | None


def _cursor(raw: str | None) -> tuple[int, str] | None:
    at, separator, job = (raw or "").partition(":")
    return (int(at), job) if separator and at.isdecimal() else None


def page(server: Server, *, queue: str | None = None, after: str | None = None, size: int = 100) -> QuarantinePage:
    """Jobs quarantined before the cursor ``after``, of one queue or of all."""
    keys, cursor = conf.keys, _cursor(after)
    first = Batch(server.connection)
    search = QueueSearch(first, keys, server.queues)
    first.run()
    names: Sequence[str] = search.result().names
    chosen = [queue] if queue is not None else list(names)
    second = Batch(server.connection)
    counts = {name: second.call("zcard", keys.of("quarantined", name)) for name in dict.fromkeys([*names, *chosen])}
    most = cursor[0] if cursor else "+inf"
    found = {
        name: second.call(
            "zrevrangebyscore", keys.of("quarantined", name), most, "-inf", 0, size + TIES, withscores=True
        )
        for name in chosen
    }
    second.run()
    entries = (
        (int(score), job, name)
        for name, slot in found.items()
        for raw, score in slot.get([])
        if (job := text(raw)) is not None and (cursor is None or (int(score), job) < cursor)
    )
    chosen_rows = heapq.nlargest(size + 1, entries)
    shown_rows = chosen_rows[:size]
    third = Batch(server.connection)
    infos = (
        third.call("hmget", keys.static("quarantine_info"), [job for _, job, _ in shown_rows]) if shown_rows else Slot()
    )
    plain = [third.call("hmget", keys.of("rq_job", job), FIELDS) for _, job, _ in shown_rows]
    intact = [third.call("hexists", keys.of("rq_job", job), "data") for _, job, _ in shown_rows]
    third.run()
    rows = tuple(
        _row(entry, decoded(info), fields, bool(whole.get()))
        for entry, info, fields, whole in zip(
            shown_rows, infos.get([None] * len(shown_rows)), plain, intact, strict=True
        )
    )
    more = len(chosen_rows) > size
    return QuarantinePage(
        rows,
        {name: slot.number() for name, slot in counts.items() if slot.number()},
        f"{rows[-1].at}:{rows[-1].job}" if more and rows else None,
    )


def _row(entry: tuple[int, str, str], info: dict[str, object], fields: Slot, intact: bool) -> Quarantined:
    at, job, queue = entry
    description, _, replay_of, replays, function = fields.get([None] * len(FIELDS))
    return Quarantined(
        job=job,
        queue=queue,
        function=str(info.get("function") or shown(function)),
        kind=str(info.get("kind") or ""),
        reason=str(info.get("reason") or ""),
        error=str(info.get("error") or ""),
        fingerprint=str(info.get("fingerprint") or ""),
        attempts=number(info.get("attempts")) or 0,
        crashes=number(info.get("crashes")) or 0,
        replays=number(info.get("replays")) or number(replays) or 0,
        replay_of=shown(replay_of),
        at=at,
        description=shown(description)[:2_000],
        intact=intact,
    )
