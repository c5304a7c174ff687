"""Pages of jobs in one state, paged and filtered by one script: the same reader for pages and for bulk work."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from queueops.conf import conf
from queueops.rdb.client import Server
from queueops.rdb.keys import SEP
from queueops.rdb.scripts import run
from queueops.telemetry.batch import decoded, number, shown, text

STATES = ("queued", "parked", "running", "scheduled", "deferred", "failed", "quarantined")
PARTS = {"retries": ("scheduled", "retries"), "repeats": ("scheduled", "repeats")}
"""Parts of a state that are lists of their own."""
LOOK = 500
"""Entries that one call looks at: under 10 ms of the server's time."""
MOST_QUEUES = 500
FIELDS = (
    "status", "function", "origin", "since", "enqueued_at", "started_at", "ended_at", "created_at", "attempts",
    "failures", "parked", "quarantined", "worker", "tags", "fingerprint", "error", "repeats_left", "number_of_retries",
    "retries_left", "parkings",
)  # fmt: skip
"""In the order of the script."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs of ``state`` (one of STATES or PARTS): texts are contained, ignoring ASCII case; ages in seconds.

    ``error`` is a fingerprint or a part of the error or of the reason of quarantine; ``text`` a part of the description
    (the arguments); ``any`` a part of id, function or description. None of ``queue`` means all.
    """

    state: str = "queued"
    queue: str | None = None
    function: str = ""
    error: str = ""
    text: str = ""
    tag: str = ""
    any: str = ""
    older: float = 0.0
    younger: float = 0.0

    @property
    def active(self) -> bool:
        """Whether entries must be looked at one by one."""
        return any(getattr(self, f.name) not in ("", 0.0) for f in fields(self) if f.name not in ("state", "queue"))

    def in_words(self) -> str:
        """For the audit trail: ``failed jobs with queue 'mail', error 'SlowDown'``."""
        words = {"older": "older than", "younger": "younger than", "any": "anything like", "text": "arguments"}
        parts = [
            f"{words.get(name, name)} {f'{value:g} s' if isinstance(value, float) else repr(value)}"
            for name, value in self.as_dict().items()
            if name != "state"
        ]
        what = {"retries": "retrying", "repeats": "repeating"}.get(self.state, self.state)
        return f"{what} jobs" + (" with " + ", ".join(parts) if parts else "")

    def as_dict(self) -> dict[str, Any]:
        """What is set, for storage and addresses."""
        set_ = {name: value for name, value in asdict(self).items() if value not in ("", 0.0, None)}
        return set_ if self.queue is None else {**set_, "queue": self.queue}


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two entries: the entry seen last, and up to two before it in case it is gone by then."""

    score: str
    queue: str
    index: int
    members: tuple[bytes, ...]

    def text(self) -> str:
        """For an address."""
        parts = [self.score, self.queue, self.index, *(member.decode("latin-1") for member in self.members)]
        return base64.urlsafe_b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, given: str) -> Cursor | None:
        """None for text that names no place."""
        try:
            parts = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
            score, queue, index, *members = parts
            float(score)
            queue.encode()
            kept = tuple(member.encode("latin-1") for member in members)[:3]
        except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError):
            return None
        whole = isinstance(score, str) and isinstance(index, int) and 0 <= index < 1 << 40
        return cls(score, queue, index, kept) if whole and kept and score == score.strip() else None


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job of a page. Times in µs, 0 when unknown; ``gone`` when the hash no longer exists."""

    server: str
    id: str
    queue: str
    listed: str
    place: Cursor
    begun: int
    description: str
    size: int
    info: Mapping[str, Any]
    fields: Mapping[str, str]

    @property
    def gone(self) -> bool:
        return not self.fields.get("status") and not self.fields.get("function") and not self.size


@dataclass(frozen=True, slots=True)
class JobSlice:
    """What one server answered. ``left``: more entries follow in the direction of reading; times in µs."""

    now: int
    rows: tuple[JobRow, ...]
    looked: int
    left: bool
    total: int
    first: Cursor | None
    last: Cursor | None
    retries: int
    repeats: int
    sampled: bool
    sampled_all: bool
    cron: tuple[tuple[str, bytes], ...]


def read(
    server: Server,
    wanted: JobFilter,
    queues: Sequence[str],
    *,
    cursor: Cursor | None = None,
    back: bool = False,
    size: int = 100,
    budget: int = LOOK,
    sample: bool = False,
    count: bool = False,
    plain: bool = False,
    edge: int = 0,
) -> JobSlice:
    """One round trip. ``queues``: their names; ``back`` reads towards the first entry; ``plain`` reads ids alone.

    ``count`` counts the entries of all queues; ``sample`` looks how many scheduled jobs retry or repeat.
    ``edge``: 0, or -1 and 1 where the cursor is a place on a server before or after this one.
    """
    state, only = PARTS.get(wanted.state, (wanted.state, ""))
    options: dict[str, Any] = {
        "state": state, "only": only, "queues": sorted(queues)[:MOST_QUEUES], "size": size, "budget": budget,
        "back": int(back), "func": wanted.function, "text": wanted.text,
        "any": wanted.any, "error": wanted.error, "tag": wanted.tag, "older": int(wanted.older * 1e6),
        "younger": int(wanted.younger * 1e6), "sample": int(sample), "cron": int(sample), "count": int(count),
        "plain": int(plain),
    }  # fmt: skip
    args: list[Any] = [json.dumps(options, ensure_ascii=False).encode("utf-8", "replace")]
    if cursor is not None:
        args += [cursor.score, _rank(cursor.queue, options["queues"], edge), cursor.index, *cursor.members]
    now, rows, looked, left, total, first, last, counted, cron = run(server.connection, "list_jobs", *args)
    found = tuple(_row(server, state, row) for row in rows)
    return JobSlice(
        now=int(now),
        rows=found[::-1] if back else found,
        looked=looked,
        left=bool(left),
        total=total,
        first=_cursor(last if back else first),
        last=_cursor(first if back else last),
        retries=counted[0],
        repeats=counted[1],
        sampled=sample,
        sampled_all=bool(counted[2]),
        cron=tuple((shown(name), raw) for name, raw in cron),
    )


def _rank(queue: str, queues: Sequence[str], edge: int) -> float:
    """The place of a queue in the order of pages; between two for one that is not listed any more."""
    if edge:
        return 0.5 if edge < 0 else len(queues) + 0.5
    at = bisect_left(queues, queue)
    return at + 1 if at < len(queues) and queues[at] == queue else at + 0.5


def _cursor(raw: list[Any]) -> Cursor | None:
    return Cursor(shown(raw[0]), shown(raw[1]), int(raw[2]), tuple(raw[3:])) if raw else None


def _row(server: Server, state: str, raw: list[Any]) -> JobRow:
    id_, queue, score, begun, description, size, info, *values = raw
    got = {name: shown(value) for name, value in zip(FIELDS, values, strict=False) if value is not None}
    return JobRow(
        server=server.alias,
        id=shown(id_),
        queue=got.get("origin", shown(queue)),
        listed=state,
        place=Cursor(shown(score), shown(queue), 0, (id_,)),
        begun=number(begun) or 0,
        description=shown(description),
        size=size,
        info=decoded(info),
        fields=got,
    )


def tags(raw: str) -> tuple[str, ...]:
    """The tags behind the plain field of a job's hash."""
    return tuple(filter(None, raw.split(SEP)))[:50]


@dataclass(frozen=True, slots=True)
class CronEntry:
    """An entry of RQ's cron, as its scheduler published it. ``args`` and ``kwargs`` are JSON texts, "" for none."""

    server: str
    scheduler: str
    name: str
    function: str
    queue: str
    when: str
    last: str
    next: str
    args: str
    kwargs: str
    options: Mapping[str, Any]


_OPTIONS = ("job_timeout", "result_ttl", "ttl", "failure_ttl")


def cron_entries(alias: str, found: Sequence[tuple[str, bytes]]) -> tuple[CronEntry, ...]:
    """The entries of all schedulers of a server; what cannot be read is left out, an entry of two schedulers is one."""
    entries: dict[tuple[Any, ...], CronEntry] = {}
    for scheduler, raw in found:
        try:
            listed = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        for each in listed[:500] if isinstance(listed, list) else ():
            if not isinstance(each, dict) or not isinstance(each.get("func_name"), str):
                continue

            def word(name: str, each: dict[str, Any] = each) -> str:
                value = each.get(name)
                return "" if value is None else str(value)

            entry = CronEntry(
                server=alias,
                scheduler=scheduler,
                name=word("name") or word("func_name"),
                function=word("func_name"),
                queue=word("queue_name"),
                when=word("cron") or (f"{word('interval')} s" if each.get("interval") else ""),
                last=word("latest_enqueue_time"),
                next=word("next_enqueue_time"),
                args=word("args"),
                kwargs=word("kwargs"),
                options={name: each[name] for name in _OPTIONS if isinstance(each.get(name), int)},
            )
            entries.setdefault((entry.name, entry.queue, entry.when, entry.args, entry.kwargs), entry)
    return tuple(sorted(entries.values(), key=lambda e: (e.name, e.queue)))


def read_cron(server: Server) -> tuple[CronEntry, ...]:
    """The entries of RQ's cron on a server; two round trips."""
    keys = conf.keys
    names = [text(raw) for raw in server.connection.zrevrange(keys.static("rq_cron_schedulers"), 0, 9)]
    known = [name for name in names if name is not None]
    pipe = server.connection.pipeline(transaction=False)
    for name in known:
        pipe.hget(keys.of("rq_cron_scheduler", name), "cron_jobs")
    raws = pipe.execute() if known else []
    return cron_entries(server.alias, [(name, raw) for name, raw in zip(known, raws, strict=True) if raw])
