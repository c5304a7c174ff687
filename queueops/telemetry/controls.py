"""Pages of locks, semaphores and rates, and of the holders and waiters of one. One or two round trips each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.rdb.keys import KIND_LETTERS, SEP
from queueops.telemetry.batch import Batch, decoded, number, shown
from queueops.telemetry.clock import US, age
from queueops.telemetry.instances import SILENT, Declared, InstanceInfo, InstanceReader, LineReader, control_of, unheard

if TYPE_CHECKING:
    from queueops.rdb.client import Server

PAGE = 100
OFFERS = 12
"""Reserved slots named on a page."""
NAMES = 50_000
"""Names looked through for a search, newest changed first: some 10 ms of the server's time."""
TEXTS = 1_000
"""Keys too long to be names that a search looks through."""


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


ENDED = 2
"""What ``show_lock`` says of a token that is the id of a job which does not run."""


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
    by_hand: bool = False
    """A job took it itself, under its own id."""
    abandoned: bool = False
    """Its owner is known to be gone; of a holder outside a job nobody knows."""


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


class DetailReader:
    """One instance: its holders with the jobs behind them, the first ``size`` of its line, its newest events."""

    def __init__(self, batch: Batch, instance: str, *, size: int = PAGE, history: int = 0) -> None:
        self._instance = instance
        self._info = InstanceReader(batch, [instance])
        self._people = batch.script("show_lock", instance.encode("utf-8", "replace"), size, OFFERS, SILENT)
        self._events = batch.call("xrevrange", conf.keys.of("history", instance), count=history) if history else None

    def read(self) -> InstanceDetail:
        live = self._info.read()
        now, info = live.now, next(iter(live.rows), None) or unheard(self._instance, live)
        holders, waiters, offers = self._people.get([[], [], []])
        holder = _holding_job if self._instance.startswith("U:") else _holder
        return InstanceDetail(
            at=now,
            info=info,
            holders=tuple(holder(row, now, info.kind) for row in holders),
            waiters=tuple(_waiter(place, row, now) for place, row in enumerate(waiters, 1)),
            declared=live.declared(control_of(self._instance)),
            offered=tuple(OfferInfo(shown(job), shown(origin) or None) for job, origin in offers),
            history=tuple(self._events.get([])) if self._events else (),
        )


def detail(server: Server, instance: str, *, size: int = PAGE, history: int = 0) -> InstanceDetail:
    """As :class:`DetailReader` says, in one round trip."""
    batch = Batch(server.connection)
    reader = DetailReader(batch, instance, size=size, history=history)
    batch.run()
    return reader.read()


def _holding_job(raw: Sequence[Any], now: int, _kind: str) -> HolderInfo:
    """The holder of a unique lock is a job."""
    token, score, _lease, _weight, _is_job, silent, status, origin, function, worker, by_time = raw
    return HolderInfo(
        token=shown(token),
        weight=1,
        job=shown(token),
        function=shown(function) or None,
        queue=shown(origin) or None,
        worker=shown(worker) or None,
        held=None,
        left=max(0.0, (float(score) - now) / US) if isfinite(float(score)) else None,
        orphan=not status and not by_time,
        abandoned=not status and not by_time,
        silent=bool(silent),
    )


def _holder(raw: Sequence[Any], now: int, kind: str) -> HolderInfo:
    token, score, raw_lease, weight, is_job, silent = raw
    lease = decoded(raw_lease)
    started = lease.get("started") if lease else (float(score) if kind == "rate" else None)
    orphan = kind != "rate" and not lease
    return HolderInfo(
        token=shown(token),
        weight=number(weight) or 1,
        job=lease.get("job"),
        function=lease.get("function"),
        queue=lease.get("queue"),
        worker=lease.get("worker"),
        held=age(started, now) if isinstance(started, (int, float)) else None,
        left=None if kind == "rate" else max(0.0, (float(score) - now) / US),
        orphan=orphan,
        span=(number(lease.get("span")) or 0) / US,
        silent=bool(silent),
        by_hand=orphan and bool(is_job),
        abandoned=orphan and is_job == ENDED,
    )


def _waiter(place: int, raw: Sequence[Any], now: int) -> WaiterInfo:
    job, since, origin, function, offered, weight = raw
    return WaiterInfo(
        place=place,
        job=shown(job),
        function=shown(function) or None,
        queue=shown(origin) or None,
        wait=age(float(since), now),
        offered=bool(offered),
        weight=number(weight) or 1,
    )
