"""Pages of locks, semaphores and rates, and of the holders and waiters of one. Each at most three round trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import JOB_FIELDS, KIND_LETTERS
from queueops.telemetry.batch import Batch, Slot, decoded, number, shown, text
from queueops.telemetry.clock import age, from_time
from queueops.telemetry.instances import InstanceInfo, InstanceReader, control_of

if TYPE_CHECKING:
    from queueops.rdb.client import Server

PAGE = 100
OFFERS = 12
"""Reserved slots named on a page."""
SCAN = 10_000
"""Instances looked through for a search."""


@dataclass(frozen=True, slots=True)
class InstancePage:
    """Newest changed first. ``next`` continues after this page; ``scanned_all`` is false when a search was cut."""

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
    definition: dict[str, Any]
    override: dict[str, Any]
    conflict: dict[str, Any]
    offered: tuple[OfferInfo, ...] = ()


def page(
    server: Server, *, offset: int = 0, size: int = PAGE, search: str = "", kind: str = "", control: str = ""
) -> InstancePage:
    """Instances by last change, newest first. A search looks through the ``SCAN`` newest."""
    keys = conf.keys
    filtered = bool(search or kind or control)
    first = Batch(server.connection)
    time = first.call("time")
    known = first.call("zcard", keys.static("instances"))
    start, stop = (0, SCAN - 1) if filtered else (offset, offset + size)
    found = first.call("zrevrange", keys.static("instances"), start, stop)
    first.run()
    ids = [name for raw in found.get([]) if (name := text(raw)) is not None]
    if filtered:
        wanted, letter = search.casefold(), KIND_LETTERS.get(kind, kind[:1].upper())
        ids = [
            i
            for i in ids
            if wanted in i.casefold() and (not letter or i.startswith(f"{letter}:")) and control in ("", control_of(i))
        ][offset : offset + size + 1]
    more = len(ids) > size
    now, rows = _read(server, ids[:size], from_time(time.get((0, 0))))
    return InstancePage(
        now, tuple(rows), known.number(), offset + size if more else None, not filtered or known.number() <= SCAN
    )


def _read(server: Server, ids: Sequence[str], now: int) -> tuple[int, list[InstanceInfo]]:
    second = Batch(server.connection)
    reader = InstanceReader(second, conf.keys, ids)
    second.run()
    third = Batch(server.connection)
    reader.stock(third, now)
    third.run()
    return now, reader.rows()


def detail(server: Server, instance: str, *, size: int = PAGE) -> InstanceDetail:
    """One instance: its holders with the jobs behind them, and the first ``size`` of its line."""
    keys, control = conf.keys, control_of(instance)
    first = Batch(server.connection)
    time = first.call("time")
    reader = InstanceReader(first, keys, [instance])
    held = first.call("zrange", keys.of("holders", instance), 0, size - 1, withscores=True)
    line = first.call("zrange", keys.of("line", instance), 0, size - 1, withscores=True)
    offers = first.call("zrange", keys.of("offers", instance), 0, OFFERS - 1)
    others = [first.call("hget", keys.static(name), control) for name in ("controls", "overrides", "conflicts")]
    first.run()
    now = from_time(time.get((0, 0)))
    tokens, jobs = [text(raw) for raw, _ in held.get([])], [text(raw) for raw, _ in line.get([])]
    second = Batch(server.connection)
    reader.stock(second, now)
    by_job = reader.ids[0].startswith("U:")
    owners = [(_owner_job if by_job else _owner)(second, keys, instance, token or "") for token in tokens]
    queued = [_queued(second, keys, instance, job or "") for job in jobs]
    offered = [(job := shown(raw), second.call("hget", keys.of("rq_job", job), "origin")) for raw in offers.get([])]
    second.run()
    info = reader.rows()[0]
    holders = tuple(
        _holder(shown(raw), score, slots, now, info.kind)
        for (raw, score), slots in zip(held.get([]), owners, strict=True)
    )
    waiters = tuple(
        _waiter(place, shown(raw), score, slots, now)
        for place, ((raw, score), slots) in enumerate(zip(line.get([]), queued, strict=True), 1)
    )
    definition, override, conflict = (decoded(slot.get()) for slot in others)
    offer_rows = tuple(OfferInfo(job, text(origin.get())) for job, origin in offered)
    return InstanceDetail(now, info, holders, waiters, definition, override, conflict, offer_rows)


def _owner(batch: Batch, keys: Any, instance: str, token: str) -> tuple[Slot, Slot]:
    return (
        batch.call("hget", keys.static("leases"), token.partition("#")[0]),
        batch.call("hget", keys.of("holder_weights", instance), token),
    )


def _owner_job(batch: Batch, keys: Any, instance: str, job: str) -> tuple[Slot, Slot]:
    """The holder of a unique lock is a job."""
    fields = ("status", "origin", JOB_FIELDS["func"], "worker_name")
    return batch.call("hmget", keys.of("rq_job", job), fields), batch.call("hget", keys.of("rate", instance), "by_time")


def _holding_job(job: str, score: float, slots: tuple[Slot, Slot], now: int) -> HolderInfo:
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
    )


def _queued(batch: Batch, keys: Any, instance: str, job: str) -> tuple[Slot, Slot, Slot]:
    return (
        batch.call("hmget", keys.of("rq_job", job), ("origin", JOB_FIELDS["func"])),
        batch.call("zscore", keys.of("offers", instance), job),
        batch.call("hget", keys.of("offer_weights", instance), job),
    )


def _holder(token: str, score: float, slots: tuple[Slot, Slot], now: int, kind: str) -> HolderInfo:
    if kind == "unique":
        return _holding_job(token, score, slots, now)
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
