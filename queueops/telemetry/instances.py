"""The live locks, semaphores and rates: how many hold, are offered, wait; and whether there is room."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Any

from queueops.rdb.keys import SEP, split_instance
from queueops.telemetry.batch import Batch, decoded, number, shown
from queueops.telemetry.clock import US, age

ONE = ("lock", "unique", "unique_run")
"""Kinds that one holder fills."""
OWNERS = 10
"""Holders of an instance whose owners are looked up."""
SILENT = 30_000_000
"""µs without a sign of life after which a holder's worker counts as gone."""
WAITED = 1_000
"""Parked jobs that are asked what they wait for: what holds others up is found however many locks change."""
MOST = 2_000
"""Instances in one answer."""


@dataclass(frozen=True, slots=True)
class InstanceInfo:
    """One lock, semaphore or rate with one key. ``used`` includes weights; ``limit`` is ``None`` when unknown.

    ``per`` in seconds for rates. ``oldest_wait`` in seconds.
    """

    id: str
    kind: str
    name: str
    key: str
    key_text: str
    limit: int | None
    declared: int | None
    used: float
    holders: int
    offers: int
    waiters: int
    full: bool
    per: float | None = None
    strategy: str = ""
    oldest_wait: float | None = None
    next_end: int | None = None
    burst: int | None = None

    @property
    def control(self) -> str:
        return control_of(self.id)

    @property
    def capacity(self) -> int | None:
        """The most that is used at once, and the heaviest claim that ever fits: of a bucket its burst."""
        return self.burst or self.limit if self.strategy == "bucket" else self.limit


def control_of(instance: str) -> str:
    """The control of an instance id."""
    return instance.partition(SEP)[0]


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of one control: as its code says, as an operator said, as another release says."""

    definition: dict[str, Any]
    override: dict[str, Any]
    conflict: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Live:
    """What was read: ``known`` are in use, ``rows`` are those asked for; ``gone`` owners by instance. ``now`` in µs."""

    now: int
    known: int
    rows: tuple[InstanceInfo, ...]
    gone: Mapping[str, int]
    controls: Mapping[str, Declared]

    def declared(self, control: str) -> Declared:
        return self.controls.get(control) or Declared({}, {}, {})


class InstanceReader:
    """Instances in one answer of a script: those named, the newest changed, and those that parked jobs wait for."""

    def __init__(
        self,
        batch: Batch,
        ids: Sequence[str] = (),
        *,
        newest: int = 0,
        waited: int = 0,
        owners: bool = False,
        everything: bool = False,
    ) -> None:
        """``waited``: parked jobs asked; ``owners``: are they gone; ``everything``: all controls, in use or not."""
        self._slot = batch.script(
            "list_locks",
            _options(ids=ids, newest=newest, waited=waited, owners=OWNERS * owners, brief=0, all=int(everything)),
        )

    def read(self) -> Live:
        now, known, *tables, raw = self._slot.get([0, 0, [], [], [], []])
        found = [{shown(k): decoded(v) for k, v in zip(t[::2], t[1::2], strict=True)} for t in tables]
        controls = {name: Declared(*(table.get(name, {}) for table in found)) for name in dict.fromkeys(chain(*found))}
        live = Live(int(now), known, (), {}, controls)
        rows = [_row(row, live) for row in raw]
        gone = {info.id: row[13] for info, row in zip(rows, raw, strict=True) if row[13]}
        return replace(live, rows=tuple(rows), gone=gone)


class LineReader:
    """How many jobs wait for what: for the newest changed instances, and for those that parked jobs name."""

    def __init__(self, batch: Batch, *, newest: int = 0, waited: int = WAITED) -> None:
        self._slot = batch.script("list_locks", _options(newest=newest, waited=waited, brief=1))

    def read(self) -> dict[str, int]:
        return {shown(row[0]): row[1] for row in self._slot.get([[]])[-1]}


def _options(**given: Any) -> bytes:
    options = {"ids": (), "most": MOST, "owners": 0, "silent": SILENT, "all": 0, **given}
    return json.dumps(options, ensure_ascii=False).encode("utf-8", "replace")


def unheard(instance: str, live: Live) -> InstanceInfo:
    """One of which Redis said nothing."""
    return _row([instance, 0, b"", 0, b"", 0, *[b""] * 7, 0], live)


def _row(raw: Sequence[Any], live: Live) -> InstanceInfo:
    i, text = shown(raw[0]), shown(raw[2])
    waiters, held, weights, offers, offer_weights, oldest, end, *rate = (raw[1], *raw[3:13])
    kind, name, key = split_instance(i)
    told = live.declared(control_of(i))
    defined, override = told.definition, told.override
    declared = 1 if kind in ONE else number(defined.get("limit"))
    limit = declared
    until = number(override.get("until")) or 0
    if override and (until == 0 or until > live.now):
        limit = number(override.get("limit"))
    strategy = str(defined.get("strategy") or ("sliding" if kind == "rate" else ""))
    per = number(defined.get("per")) if kind in ("rate", "breaker") else None
    burst = number(defined.get("burst"))
    used: float = held + (number(weights) or 0)
    if kind == "rate":
        used = rate_used(strategy, live.now, per, limit, burst, held, rate)
    reserved = offers + (number(offer_weights) or 0)
    since, ends = _float(oldest), _float(end)
    info = InstanceInfo(
        id=i,
        kind=kind,
        name=name,
        key=key,
        key_text=text or key,
        limit=limit,
        declared=declared,
        used=used,
        holders=held,
        offers=offers,
        waiters=waiters,
        full=False,
        per=per / US if per else None,
        strategy=strategy,
        oldest_wait=age(since, live.now),
        # a unique lock may last as long as its job is open
        next_end=int(ends) if ends is not None and kind not in ("rate", "breaker") and isfinite(ends) else None,
        burst=burst,
    )
    return replace(info, full=info.capacity is not None and used + reserved >= info.capacity)


def rate_used(
    strategy: str, now: int, per: int | None, limit: int | None, burst: int | None, starts: int, raw: Sequence[Any]
) -> float:
    """Starts charged in the current window; for a bucket, what is missing from its burst."""
    start, used, level, at = map(_float, raw)
    if strategy == "sliding" or not per:
        return starts
    if strategy == "window":
        return used if start is not None and used is not None and 0 <= now - start < per else 0
    full = float(burst or limit or 0)
    if level is None or at is None or at > now:
        return 0
    refilled = min(full, level + (now - at) * (limit or 0) / per)
    return max(0.0, full - refilled)


def _float(raw: Any) -> float | None:
    try:
        return float(raw)
    except ValueError:
        return None
