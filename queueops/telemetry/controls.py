"""Pages of locks, semaphores and rates, and of the holders and waiters of one. Two round trips each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import JOB_FIELDS, KIND_LETTERS, SEP
from queueops.telemetry.batch import Batch, Slot, decoded, number, shown, text
from queueops.telemetry.clock import age
from queueops.telemetry.instances import SILENT, Declared, InstanceInfo, InstanceReader, LineReader, control_of

if TYPE_CHECKING:
    from queueops.rdb.client import Server

PAGE = 100
OFFERS = 12
"""Reserved slots named on a page."""
NAMES = 50_000
"""Names looked through for a search, newest changed first: some 10 ms of the server's time."""
TEXTS = 1_000
"""Keys too long to be names that a search looks through."""
SIGNS = 10_000
"""Workers alive that are told from silent ones."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Ids in their order; ``looked_at`` of ``known`` names were looked at; ``lines``: how many jobs wait for which."""

    ids: tuple[str, ...]
    known: int
    looked_at: int
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class InstancePage:
    """``next`` continues after this page; ``scanned_all`` is false when there are more names than are looked at."""

    at: int
    rows: tuple[InstanceInfo, ...]
    known: int
    next: int | None
    scanned_all: bool = True


@dataclass(frozen=True, slots=True)
class HolderInfo:
    """Who holds a slot. ``left`` and ``held`` in seconds; ``orphan`` means that no live lease owns it.

    A unique lock is held by a job, running or not; ``left`` is None as long as only its end frees the lock.
    """

    token: str
    weight: int
    job: str | None
    function: str | None
    queue: str | None
    worker: str | None
    held: float | None
    left: float | None
    orphan: bool
    span: float = 0.0
    """Seconds for which its lease is renewed at a time."""
    silent: bool = False
    """Its worker has given no sign for too long."""


@dataclass(frozen=True, slots=True)
class WaiterInfo:
    """A job in the line; ``wait`` in seconds; ``offered`` when a slot is reserved for it now."""

    place: int
    job: str
    function: str | None
    queue: str | None
    wait: float | None
    offered: bool
    weight: int


@dataclass(frozen=True, slots=True)
class OfferInfo:
    """A job for which a slot is reserved: it stands at the front of ``queue`` until a worker takes it."""

    job: str
    queue: str | None


@dataclass(frozen=True, slots=True)
class InstanceDetail:
    """One instance with its holders and the head of its line. ``info`` is ``None`` when nothing is known of it."""

    at: int
    info: InstanceInfo
    holders: tuple[HolderInfo, ...]
    waiters: tuple[WaiterInfo, ...]
    declared: Declared
    offered: tuple[OfferInfo, ...] = ()
    history: tuple[tuple[bytes, dict[bytes, bytes]], ...] = ()
    """Entries of a stream, newest first, as they are kept."""


class NameSearch:
    """The names of all instances, newest changed first, and how many jobs wait for which."""

    def __init__(self, batch: Batch) -> None:
        keys = conf.keys
        self._known = batch.call("zcard", keys.static("instances"))
        self._ids = batch.call("zrevrange", keys.static("instances"), 0, NAMES - 1)
        self._texts = batch.call("hscan", keys.static("key_text"), 0, count=TEXTS)
        self._lines = LineReader(batch)

    def find(self, *, search: str = "", kind: str = "", controls: Sequence[str] = ()) -> Matches:
        """Those of a kind or of ``controls`` whose name or key contains ``search``; what jobs wait for comes first."""
        lines, wanted = self._lines.read(), search.casefold()
        begins = tuple(control + SEP for control in controls)
        begins = begins or (f"{KIND_LETTERS.get(kind, kind[:1].upper())}:" if kind else "",)
        texts = {shown(k): shown(v) for k, v in self._texts.get((0, {}))[1].items()} if wanted else {}
        names = {**dict.fromkeys(lines), **dict.fromkeys(map(shown, self._ids.get([])))}
        found = [i for i in names if i.startswith(begins)]
        if wanted:
            found = [i for i in found if wanted in i.casefold() or wanted in texts.get(i, "").casefold()]
        found.sort(key=lambda i: -lines.get(i, 0))
        known = self._known.number()
        return Matches(tuple(found), known, min(known, NAMES), {i: n for i, n in lines.items() if n})


def page(
    server: Server, *, offset: int = 0, size: int = PAGE, search: str = "", kind: str = "", control: str = ""
) -> InstancePage:
    """Instances that jobs wait for, then the others by last change, newest first. Two round trips."""
    batch = Batch(server.connection)
    names = NameSearch(batch)
    batch.run()
    found = names.find(search=search, kind=kind, controls=[control] if control else ())
    batch = Batch(server.connection)
    reader = InstanceReader(batch, found.ids[offset : offset + size])
    batch.run()
    live, following = reader.read(), offset + size
    return InstancePage(
        live.now,
        live.rows,
        found.known,
        following if len(found.ids) > following else None,
        found.looked_at == found.known,
    )


def detail(server: Server, instance: str, *, size: int = PAGE, history: int = 0) -> InstanceDetail:
    """One instance: its holders with the jobs behind them, the first ``size`` of its line, its newest events.

    Two round trips.
    """
    keys, control = conf.keys, control_of(instance)
    first = Batch(server.connection)
    reader = InstanceReader(first, [instance])
    held = first.call("zrange", keys.of("holders", instance), 0, size - 1, withscores=True)
    line = first.call("zrange", keys.of("line", instance), 0, size - 1, withscores=True)
    offers = first.call("zrange", keys.of("offers", instance), 0, OFFERS - 1)
    events = first.call("xrevrange", keys.of("history", instance), count=history) if history else None
    first.run()
    live = reader.read()
    now, (info,) = live.now, live.rows
    tokens, jobs = [text(raw) for raw, _ in held.get([])], [text(raw) for raw, _ in line.get([])]
    second = Batch(server.connection)
    alive = second.call("zrangebyscore", keys.static("workers"), now - SILENT, "+inf", start=0, num=SIGNS)
    by_job = instance.startswith("U:")
    owners = [(_owner_job if by_job else _owner)(second, keys, instance, token or "") for token in tokens]
    queued = [_queued(second, keys, instance, job or "") for job in jobs]
    offered = [(job := shown(raw), second.call("hget", keys.of("rq_job", job), "origin")) for raw in offers.get([])]
    second.run()
    signs = frozenset(map(shown, alive.get([])))
    holders = tuple(
        _holder(shown(raw), score, slots, now, info.kind, signs)
        for (raw, score), slots in zip(held.get([]), owners, strict=True)
    )
    waiters = tuple(
        _waiter(place, shown(raw), score, slots, now)
        for place, ((raw, score), slots) in enumerate(zip(line.get([]), queued, strict=True), 1)
    )
    return InstanceDetail(
        at=now,
        info=info,
        holders=holders,
        waiters=waiters,
        declared=live.declared(control),
        offered=tuple(OfferInfo(job, text(origin.get())) for job, origin in offered),
        history=tuple(events.get([])) if events else (),
    )


def _owner(batch: Batch, keys: Any, instance: str, token: str) -> tuple[Slot, Slot]:
    return (
        batch.call("hget", keys.static("leases"), token.partition("#")[0]),
        batch.call("hget", keys.of("holder_weights", instance), token),
    )


def _owner_job(batch: Batch, keys: Any, instance: str, job: str) -> tuple[Slot, Slot]:
    """The holder of a unique lock is a job."""
    fields = ("status", "origin", JOB_FIELDS["func"], "worker_name")
    return batch.call("hmget", keys.of("rq_job", job), fields), batch.call("hget", keys.of("rate", instance), "by_time")


def _holding_job(job: str, score: float, slots: tuple[Slot, Slot], now: int, alive: frozenset[str]) -> HolderInfo:
    status, origin, function, worker = map(text, slots[0].get([None] * 4))
    return HolderInfo(
        token=job,
        weight=1,
        job=job,
        function=function,
        queue=origin,
        worker=worker,
        held=None,
        left=max(0.0, (score - now) / 1_000_000) if isfinite(score) else None,
        orphan=status is None and slots[1].get() is None,
        silent=bool(worker) and worker not in alive,
    )


def _queued(batch: Batch, keys: Any, instance: str, job: str) -> tuple[Slot, Slot, Slot]:
    return (
        batch.call("hmget", keys.of("rq_job", job), ("origin", JOB_FIELDS["func"])),
        batch.call("zscore", keys.of("offers", instance), job),
        batch.call("hget", keys.of("offer_weights", instance), job),
    )


def _holder(
    token: str, score: float, slots: tuple[Slot, Slot], now: int, kind: str, alive: frozenset[str]
) -> HolderInfo:
    if kind == "unique":
        return _holding_job(token, score, slots, now, alive)
    lease = decoded(slots[0].get())
    started = lease.get("started") if lease else (score if kind == "rate" else None)
    return HolderInfo(
        token=token,
        weight=number(slots[1].get()) or 1,
        job=lease.get("job"),
        function=lease.get("function"),
        queue=lease.get("queue"),
        worker=lease.get("worker"),
        held=age(started, now) if isinstance(started, (int, float)) else None,
        left=None if kind == "rate" else max(0.0, (score - now) / 1_000_000),
        orphan=kind != "rate" and not lease,
        span=(number(lease.get("span")) or 0) / 1e6,
        silent=bool(lease.get("worker")) and lease["worker"] not in alive,
    )


def _waiter(place: int, job: str, since: float, slots: tuple[Slot, Slot, Slot], now: int) -> WaiterInfo:
    origin, function = slots[0].get([None, None])
    return WaiterInfo(
        place=place,
        job=job,
        function=text(function),
        queue=text(origin),
        wait=age(since, now),
        offered=slots[1].get() is not None,
        weight=number(slots[2].get()) or 1,
    )
