"""Entries of the changelog and of a lock's own history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import store
from queueops.rdb.keys import split_instance


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. ``at`` in µs of the store's clock; ``instance`` is the control with its key."""

    id: str
    at: int
    event: str
    job: str
    function: str
    queue: str
    instance: str
    worker: str
    token: str
    by: str
    why: str

    @property
    def control(self) -> str:
        return self.instance.partition("\x1f")[0]

    @property
    def control_name(self) -> str:
        kind, name, _key = split_instance(self.instance)
        return name if kind != "unknown" else self.instance

    @property
    def key(self) -> str:
        return self.instance.partition("\x1f")[2]


def entry(id_: Any, raw: dict[Any, Any]) -> Entry:
    got = {store.text(key): store.text(value) for key, value in raw.items()}
    ident = store.text(id_)
    return Entry(
        ident,
        store.number(ident.partition("-")[0]) * 1000,
        *(got.get(k, "") for k in ("e", "job", "f", "q", "c", "w", "t", "by", "why")),
    )


def entries(raw: Iterable[tuple[Any, dict[Any, Any]]]) -> tuple[Entry, ...]:
    """A part of a stream in its order."""
    return tuple(entry(id_, fields) for id_, fields in raw)
