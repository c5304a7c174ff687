"""The live locks, semaphores and rates: how many hold, are offered, wait; and whether there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from queueops.rdb.keys import SEP, Keys, split_instance
from queueops.telemetry.batch import Batch, Slot, decoded, number
from queueops.telemetry.clock import US, age

ONE = ("lock", "unique", "unique_run")
"""Kinds that one holder fills."""


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
    def capacity(self) -> int | None:
        """The most that is used at once, and the heaviest claim that ever fits: of a bucket its burst."""
        return self.burst or self.limit if self.strategy == "bucket" else self.limit


def control_of(instance: str) -> str:
    """The control of an instance id."""
    return instance.partition(SEP)[0]


class InstanceReader:
    """Definitions of many instances in one round trip (made here), their stocks in the next (:meth:`stock`)."""

    def __init__(self, batch: Batch, keys: Keys, ids: Sequence[str]) -> None:
        self._keys, self.ids = keys, list(ids)
        self._controls = sorted({control_of(i) for i in self.ids})
        self._slots: tuple[Slot, Slot, Slot] | None = None
        if self.ids:
            self._slots = (
                batch.call("hmget", keys.static("controls"), self._controls),
                batch.call("hmget", keys.static("overrides"), self._controls),
                batch.call("hmget", keys.static("key_text"), self.ids),
            )
        self._now = 0
        self._stock: dict[str, list[Slot]] = {}

    def _definitions(self, which: int) -> dict[str, dict[str, Any]]:
        raw = self._slots[which].get() if self._slots else None
        return dict(zip(self._controls, map(decoded, raw or [None] * len(self._controls)), strict=True))

    def stock(self, batch: Batch, now: int) -> None:
        """Ask for holders, offers and lines; starts of a rate are counted within its window before ``now`` (µs)."""
        self._now = now
        keys, defined = self._keys, self._definitions(0)
        for i in self.ids:
            per = number(defined[control_of(i)].get("per")) if i[:2] in ("R:", "B:") else None
            held = keys.of("holders", i)
            self._stock[i] = [
                batch.call("zcount", held, f"({now - per}", "+inf") if per else batch.call("zcard", held),
                batch.call("hget", keys.of("holder_weights", i), ""),
                batch.call("zcard", keys.of("offers", i)),
                batch.call("hget", keys.of("offer_weights", i), ""),
                batch.call("zcard", keys.of("line", i)),
                batch.call("zrange", keys.of("line", i), 0, 0, withscores=True),
                batch.call("zrange", held, 0, 0, withscores=True),
                batch.call("hmget", keys.of("rate", i), ("start", "used", "level", "at")),
            ]

    def rows(self) -> list[InstanceInfo]:
        """One row an instance, in the order asked."""
        defined, overrides = self._definitions(0), self._definitions(1)
        texts = (self._slots[2].get() if self._slots else None) or [None] * len(self.ids)
        return [
            self._row(i, defined[control_of(i)], overrides[control_of(i)], raw)
            for i, raw in zip(self.ids, texts, strict=True)
        ]

    def _row(self, i: str, defined: Mapping[str, Any], override: Mapping[str, Any], raw: Any) -> InstanceInfo:
        kind, name, key = split_instance(i)
        held, weights, offers, offer_weights, line, first, soonest, rate = self._stock[i]
        declared = 1 if kind in ONE else number(defined.get("limit"))
        limit = declared
        until = number(override.get("until")) or 0
        if override and (until == 0 or until > self._now):
            limit = number(override.get("limit"))
        strategy = str(defined.get("strategy") or ("sliding" if kind == "rate" else ""))
        per = number(defined.get("per")) if kind in ("rate", "breaker") else None
        used: float = held.number() + (number(weights.get()) or 0)
        if kind == "rate":
            used = rate_used(strategy, self._now, per, limit, number(defined.get("burst")), held.number(), rate.get())
        reserved = offers.number() + (number(offer_weights.get()) or 0)
        oldest, end = first.get([]), soonest.get([])
        info = InstanceInfo(
            id=i,
            kind=kind,
            name=name,
            key=key,
            key_text=raw.decode("utf-8", "replace") if isinstance(raw, bytes) else key,
            limit=limit,
            declared=declared,
            used=used,
            holders=held.number(),
            offers=offers.number(),
            waiters=line.number(),
            full=False,
            per=per / US if per else None,
            strategy=strategy,
            oldest_wait=age(oldest[0][1], self._now) if oldest else None,
            # a unique lock may last as long as its job is open
            next_end=int(end[0][1]) if end and kind not in ("rate", "breaker") and isfinite(end[0][1]) else None,
            burst=number(defined.get("burst")),
        )
        return replace(info, full=info.capacity is not None and used + reserved >= info.capacity)


def rate_used(
    strategy: str, now: int, per: int | None, limit: int | None, burst: int | None, starts: int, raw: Any
) -> float:
    """Starts charged in the current window; for a bucket, what is missing from its burst."""
    start, used, level, at = (_float(value) for value in (raw or [None] * 4))
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
        return None if raw is None else float(raw)
    except ValueError:
        return None
