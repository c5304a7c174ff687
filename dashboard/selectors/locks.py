"""Every control and its live keys: who holds, since when, until when; who waits; whose owner is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dashboard.selectors import store
from dashboard.selectors.log_entries import Entry, entries
from queueops.conf import conf
from queueops.rdb.client import Server, servers
from queueops.rdb.keys import KINDS, SEP, split_instance
from queueops.telemetry import controls as live
from queueops.telemetry.batch import Batch
from queueops.telemetry.instances import ONE, WAITED, Declared, InstanceInfo, InstanceReader, Live, control_of

MAX_CONTROLS = 500
MAX_INSTANCES = 300
"""Live keys looked at for the list beside those that parked jobs wait for; the newest changes first."""
MAX_KEYS = 100
"""Keys on one page."""


@dataclass(frozen=True, slots=True)
class Key:
    """One live key in a list; ``gone`` owners among its first holders."""

    server: str
    info: InstanceInfo
    gone: int


@dataclass(frozen=True, slots=True)
class Control:
    """A control as declared and overridden, with the sum of its live keys. Times in seconds, ``until`` in µs."""

    server: str
    id: str
    kind: str
    name: str
    limit: int | None
    declared: int | None
    per: float | None
    strategy: str
    lease: float | None
    release: str
    override: dict[str, Any] | None
    conflict: dict[str, Any] | None
    instances: tuple[InstanceInfo, ...] = ()
    gone: Mapping[str, int] = field(default_factory=dict)
    """Owners gone, by instance; the first holders of each were looked at."""

    keys: int = 0
    """Live keys that are known, these among them."""
    lined: int = 0
    """Jobs that wait for any of them, as far as was looked."""

    @property
    def rows(self) -> tuple[Key, ...]:
        return tuple(Key(self.server, i, self.gone.get(i.id, 0)) for i in self.instances)

    @property
    def waiting(self) -> int:
        return max(self.lined, sum(i.waiters for i in self.instances))

    @property
    def holders(self) -> int:
        return sum(i.holders for i in self.instances if i.kind != "rate")

    @property
    def owners_gone(self) -> int:
        return sum(self.gone.values())

    @property
    def full(self) -> int:
        return sum(i.full for i in self.instances)

    @property
    def oldest_wait(self) -> float | None:
        return max((i.oldest_wait for i in self.instances if i.oldest_wait is not None), default=None)

    @property
    def busiest(self) -> InstanceInfo | None:
        return max(self.instances, key=lambda i: (i.waiters, i.used), default=None)

    @property
    def single(self) -> InstanceInfo | None:
        """The one live key of a control that is not split by keys."""
        return self.instances[0] if self.keys == 1 and self.instances and not self.instances[0].key else None


@dataclass(frozen=True, slots=True)
class Controls:
    """The list, and what limits it."""

    rows: tuple[Control, ...]
    down: tuple[store.Down, ...]
    known: int
    looked_at: int
    keys: tuple[Key, ...] = ()
    """With a search: the first of the ``matching`` keys."""
    matching: int = 0

    @property
    def partial(self) -> bool:
        return self.looked_at < self.known


@dataclass(frozen=True, slots=True)
class Holder:
    """One hold. ``gone`` says why its owner is believed dead (ended, silent, unowned), else it is empty.

    ``started`` and ``ends`` in µs.
    """

    info: live.HolderInfo
    ends: int
    started: int
    gone: str


@dataclass(frozen=True, slots=True)
class Lock:
    """One live key in full. ``now`` in µs."""

    control: Control
    info: InstanceInfo
    holders: tuple[Holder, ...]
    waiters: tuple[live.WaiterInfo, ...]
    now: int
    offers: tuple[live.OfferInfo, ...] = ()
    history: tuple[Entry, ...] = ()
    """Its newest events; they outlive the lock for a while."""

    @property
    def gone(self) -> int:
        return sum(bool(h.gone) for h in self.holders)

    @property
    def offered(self) -> tuple[live.OfferInfo, ...]:
        """Jobs for which a slot is kept until a worker takes them."""
        return self.offers if self.info.kind != "rate" else ()

    @property
    def free(self) -> range:
        """Slots that nobody has; none are shown when the limit is unknown or large."""
        limit = self.info.limit or 0
        room = limit - int(self.info.used) - self.info.offers
        return range(max(0, room) if limit <= 12 and self.info.kind != "rate" else 0)

    @property
    def more_waiters(self) -> int:
        return max(0, self.info.waiters - len(self.waiters))

    @property
    def more_holders(self) -> int:
        return max(0, self.info.holders - len(self.holders)) if self.info.kind != "rate" else 0


def _control(server: str, id_: str, told: Declared, now: int) -> Control:
    kind, name, _key = split_instance(id_)
    d, o, c = told.definition, told.override, told.conflict
    until = store.number(o.get("until"))
    in_force = bool(o) and (until == 0 or until > now)
    declared = 1 if kind in ONE else d.get("limit")
    return Control(
        server=server,
        id=id_,
        kind=kind,
        name=name,
        limit=store.number(o.get("limit")) if in_force else declared,
        declared=declared,
        per=d["per"] / 1e6 if d.get("per") else None,
        strategy=str(d.get("strategy") or ""),
        lease=d["lease"] / 1e6 if d.get("lease") else None,
        release=str(d.get("release") or ""),
        override=o if in_force else None,
        conflict=c or None,
    )


def _with(control: Control, instances: Iterable[InstanceInfo], gone: Mapping[str, int] | None = None) -> Control:
    rows = tuple(sorted(instances, key=lambda i: (-i.waiters, -i.used, i.key_text)))
    limit = control.limit if control.limit is not None else next((i.limit for i in rows if i.limit is not None), None)
    lost = {i.id: n for i in rows if (n := (gone or {}).get(i.id))}
    return replace(control, instances=rows, keys=len(rows), limit=limit, gone=lost)


def _controls(server: Server, found: Live) -> list[Control]:
    """What is declared, and what is in use without being declared any more, each with its keys."""
    by_control: dict[str, list[InstanceInfo]] = {}
    for row in found.rows:
        by_control.setdefault(control_of(row.id), []).append(row)
    names = list(dict.fromkeys([*found.controls, *by_control]))[:MAX_CONTROLS]
    return [
        _with(_control(server.alias, i, found.declared(i), found.now), by_control.get(i, ()), found.gone) for i in names
    ]


def _read(server: Server, ids: Sequence[str] = (), **wanted: int) -> Live:
    batch = Batch(server.connection)
    reader = InstanceReader(batch, ids, owners=True, everything=True, **wanted)
    with store.guard(server):
        batch.run()
    return reader.read()


def controls(search: str = "") -> Controls:
    """Controls of all servers, most waited for first: one round trip a server.

    With a ``search``, those whose name contains it and those with such keys, among all names: two round trips.
    """
    rows: list[Control] = []
    keys: list[Key] = []
    down: list[store.Down] = []
    known = looked_at = matching = 0
    for server in servers():
        try:
            if search:
                names = _names(server).find(search=search)
                found = _read(server, names.ids[:MAX_KEYS])
                known, looked_at = known + names.known, looked_at + names.looked_at
                matching += len(names.ids)
            else:
                found = _read(server, newest=MAX_INSTANCES, waited=WAITED)
                known, looked_at = known + found.known, looked_at + len(found.rows)
        except store.StoreDown as error:
            down.append(error.down)
            continue
        here = _controls(server, found)
        rows += [row for row in here if row.instances or search.casefold() in row.name.casefold()]
        keys += [key for row in here for key in row.rows] if search else []
    rows.sort(key=lambda c: (-c.waiting, -(c.oldest_wait or 0), -c.full, -c.holders, c.name))
    keys.sort(key=lambda key: (-key.info.waiters, -key.info.used))
    return Controls(tuple(rows), tuple(down), known, looked_at, tuple(keys[:MAX_KEYS]), matching)


def _names(server: Server) -> live.NameSearch:
    batch = Batch(server.connection)
    names = live.NameSearch(batch)
    with store.guard(server):
        batch.run()
    return names


def server_named(alias: str) -> Server | None:
    """The server of an alias; the only one when none is named."""
    found = servers()
    return next((s for s in found if s.alias == alias), found[0] if found and not alias else None)


def control_ids(text: str) -> list[str]:
    """A control as named in an address: its id (``S:mail``), or a bare name under every kind."""
    exact = [text] if text[1:2] == ":" and text[:1] in KINDS else []
    return [*exact, *(f"{letter}:{text}" for letter in KINDS)]


def control(alias: str, text: str, offset: int = 0) -> Control | None:
    """One control with a page of its live keys; None when nothing of that name is known. Two round trips."""
    server = server_named(alias)
    if server is None:
        return None
    wanted = control_ids(text)
    names = _names(server).find(controls=wanted)
    keys: dict[str, list[str]] = {id_: [] for id_ in wanted}
    for each in names.ids:
        keys[control_of(each)].append(each)
    used = next((id_ for id_ in wanted if keys[id_]), wanted[0])
    found = _read(server, keys[used][offset : offset + MAX_KEYS])
    id_ = next((each for each in wanted if each in found.controls or keys[each]), None)
    if id_ is None:
        return None
    made = _control(server.alias, id_, found.declared(id_), found.now)
    waiting = sum(names.lines.get(each, 0) for each in keys[id_])
    return replace(_with(made, found.rows if id_ == used else (), found.gone), keys=len(keys[id_]), lined=waiting)


def lock(alias: str, control_id: str, key: str) -> Lock | None:
    """One live key in full; ``key`` as it stands in the instance id. Two round trips."""
    server = server_named(alias)
    if server is None or control_id[:1] not in KINDS or control_id[1:2] != ":":
        return None
    with store.guard(server):
        found = live.detail(server, f"{control_id}{SEP}{key}", history=max(conf.LOCK_HISTORY, 1))
    return Lock(
        control=_with(_control(server.alias, control_id, found.declared, found.at), [found.info]),
        info=found.info,
        holders=tuple(_holder(h, found.at) for h in found.holders),
        waiters=found.waiters,
        now=found.at,
        offers=found.offered,
        history=entries(found.history),
    )


def _holder(info: live.HolderInfo, now: int) -> Holder:
    gone = "unowned" if info.abandoned else ""
    if info.left is not None and info.left <= 0:
        gone = "ended"
    elif info.silent:
        gone = "silent"
    return Holder(
        info=info,
        ends=now + int((info.left or 0) * 1e6) if info.left is not None else 0,
        started=now - int(info.held * 1e6) if info.held is not None else 0,
        gone=gone,
    )
