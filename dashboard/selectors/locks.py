"""Every control and its live keys: who holds, since when, until when; who waits; whose owner is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dashboard.selectors import store
from queueops.rdb.client import Server, servers
from queueops.rdb.keys import KINDS, SEP, split_instance
from queueops.telemetry import controls as live
from queueops.telemetry.batch import Batch, decoded, shown
from queueops.telemetry.clock import from_time
from queueops.telemetry.instances import ONE, InstanceInfo, InstanceReader, control_of

MAX_CONTROLS = 500
MAX_INSTANCES = 300
"""Live keys looked at for the list; the newest changes first."""
OWNERS = 10
"""Holders of a key whose owners are looked up for the list."""
SILENT = 30_000_000
"""µs without a sign of life after which a holder's worker counts as gone."""


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

    @property
    def waiting(self) -> int:
        return sum(i.waiters for i in self.instances)

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
        return self.instances[0] if len(self.instances) == 1 and not self.instances[0].key else None


@dataclass(frozen=True, slots=True)
class Controls:
    """The list, and what limits it."""

    rows: tuple[Control, ...]
    down: tuple[store.Down, ...]
    known: int
    looked_at: int

    @property
    def partial(self) -> bool:
        return self.looked_at < self.known


@dataclass(frozen=True, slots=True)
class Holder:
    """One hold. ``gone`` says why its owner is believed dead (ended, silent, unowned), else it is empty.

    ``started`` and ``ends`` in µs; ``left``, ``held``, ``span`` in seconds.
    """

    info: live.HolderInfo
    ends: int
    started: int
    span: float
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


def _control(server: str, id_: str, defined: Any, override: Any, conflict: Any, now: int) -> Control:
    kind, name, _key = split_instance(id_)
    d, o, c = (value if isinstance(value, dict) else decoded(value) for value in (defined, override, conflict))
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


class _Owners:
    """Whose owner is gone, for many keys: holders in the second trip, leases and workers in the third."""

    def __init__(self, batch: Batch, ids: Iterable[str]) -> None:
        of = store.keys().of
        self._held = {
            i: batch.call("zrange", of("holders", i), 0, OWNERS - 1, withscores=True) for i in ids if i[:1] in "LSX"
        }

    def look(self, batch: Batch, now: int) -> None:
        static = store.keys().static
        self._tokens = {i: [(shown(raw), end) for raw, end in slot.get([])] for i, slot in self._held.items()}
        names = sorted({token.partition("#")[0] for rows in self._tokens.values() for token, _ in rows})
        self._names, self._leases = names, batch.call("hmget", static("leases"), names or [""])
        self._alive = batch.call("zrangebyscore", static("workers"), now - SILENT, "+inf", start=0, num=10_000)

    def gone(self, now: int) -> dict[str, int]:
        leases = dict(zip(self._names, map(decoded, self._leases.get([])), strict=False))
        alive = {shown(raw) for raw in self._alive.get([])}

        def lost(token: str, end: float) -> bool:
            lease = leases.get(token.partition("#")[0])
            return not lease or end <= now or bool(lease.get("worker") and lease["worker"] not in alive)

        return {i: n for i, rows in self._tokens.items() if (n := sum(lost(*row) for row in rows))}


def _of(server: Server) -> tuple[list[Control], int, int]:
    """Controls of one server with their live keys; three round trips."""
    keys = store.keys()
    first = Batch(server.connection)
    time = first.call("time")
    tables = ("controls", "overrides", "conflicts")
    scans = [first.call("hscan", keys.static(name), 0, count=MAX_CONTROLS) for name in tables]
    found = first.call("zrevrange", keys.static("instances"), 0, MAX_INSTANCES - 1)
    known = first.call("zcard", keys.static("instances"))
    second, third = Batch(server.connection), Batch(server.connection)
    with store.guard(server):
        first.run()
        now = from_time(time.get((0, 0)))
        ids = [raw.decode("utf-8", "replace") for raw in found.get([])]
        reader = InstanceReader(second, keys, ids)
        owners = _Owners(second, ids)
        second.run()
        reader.stock(third, now)
        owners.look(third, now)
        third.run()
    gone = owners.gone(now)
    by_control: dict[str, list[InstanceInfo]] = {}
    for row in reader.rows():
        by_control.setdefault(control_of(row.id), []).append(row)
    defined, overrides, conflicts = ({shown(k): v for k, v in slot.get((0, {}))[1].items()} for slot in scans)
    rows = [
        _with(
            _control(server.alias, i, defined.get(i), overrides.get(i), conflicts.get(i), now),
            by_control.get(i, ()),
            gone,
        )
        for i in list(dict.fromkeys([*defined, *by_control]))[:MAX_CONTROLS]
    ]
    return rows, known.number(), len(ids)


def _with(control: Control, instances: Iterable[InstanceInfo], gone: Mapping[str, int] | None = None) -> Control:
    rows = tuple(sorted(instances, key=lambda i: (-i.waiters, -i.used, i.key_text)))
    limit = control.limit if control.limit is not None else next((i.limit for i in rows if i.limit is not None), None)
    lost = {i.id: n for i in rows if (n := (gone or {}).get(i.id))}
    return replace(control, instances=rows, limit=limit, gone=lost)


def controls() -> Controls:
    """All controls of all servers, most waited for first."""
    rows: list[Control] = []
    down: list[store.Down] = []
    known = looked_at = 0
    for server in servers():
        try:
            found, here, seen = _of(server)
        except store.StoreDown as error:
            down.append(error.down)
            continue
        rows += found
        known, looked_at = known + here, looked_at + seen
    rows.sort(key=lambda c: (-c.waiting, -(c.oldest_wait or 0), -c.full, -c.holders, c.name))
    return Controls(tuple(rows), tuple(down), known, looked_at)


def server_named(alias: str) -> Server | None:
    """The server of an alias; the only one when none is named."""
    found = servers()
    return next((s for s in found if s.alias == alias), found[0] if found and not alias else None)


def control_ids(text: str) -> list[str]:
    """A control as named in an address: its id (``S:mail``), or a bare name under every kind."""
    exact = [text] if text[1:2] == ":" and text[:1] in KINDS else []
    return [*exact, *(f"{letter}:{text}" for letter in KINDS)]


def control(alias: str, text: str) -> Control | None:
    """One control with its live keys among the newest changed; None when nothing of that name is known."""
    server = server_named(alias)
    if server is None:
        return None
    rows = {c.id: c for c in _of(server)[0]}
    return next((rows[id_] for id_ in control_ids(text) if id_ in rows), None)


def lock(alias: str, control_id: str, key: str) -> Lock | None:
    """One live key in full; ``key`` as it stands in the instance id. Three round trips."""
    server = server_named(alias)
    if server is None or control_id[:1] not in KINDS or control_id[1:2] != ":":
        return None
    with store.guard(server):
        found = live.detail(server, f"{control_id}{SEP}{key}")
        names = list(dict.fromkeys(h.worker for h in found.holders if h.worker))
        batch = Batch(server.connection)
        leases = batch.call("hmget", store.keys().static("leases"), [h.token for h in found.holders] or [""])
        signs = {name: batch.call("zscore", store.keys().static("workers"), name) for name in names}
        batch.run()
    seen = {name: slot.get() for name, slot in signs.items()}
    spans = [store.number(decoded(raw).get("span")) for raw in leases.get([])]
    base = _control(server.alias, control_id, found.definition, found.override, found.conflict, found.at)
    return Lock(
        control=_with(base, [found.info]),
        info=found.info,
        holders=tuple(_holder(h, span, seen, found.at) for h, span in zip(found.holders, spans, strict=False)),
        waiters=found.waiters,
        now=found.at,
        offers=found.offered,
    )


def _holder(info: live.HolderInfo, span: int, seen: dict[str, Any], now: int) -> Holder:
    gone = "unowned" if info.orphan else ""
    if info.left is not None and info.left <= 0:
        gone = "ended"
    elif info.worker and (seen.get(info.worker) is None or now - float(seen[info.worker]) > SILENT):
        gone = "silent"
    return Holder(
        info=info,
        ends=now + int((info.left or 0) * 1e6) if info.left is not None else 0,
        started=now - int(info.held * 1e6) if info.held is not None else 0,
        span=span / 1e6,
        gone=gone,
    )
