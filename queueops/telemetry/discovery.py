"""Which queues there are, from three bounded sources. One round trip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from queueops.rdb.keys import Keys
from queueops.telemetry.batch import Batch, Slot, text

MAX_QUEUES = 500
MAX_PAUSES = 1000


@dataclass(frozen=True, slots=True)
class QueueNames:
    """Queues to look at, the settings' first; ``left_out`` were too many, ``unreadable`` are not UTF-8."""

    names: tuple[str, ...]
    left_out: int = 0
    unreadable: int = 0


class QueueSearch:
    """Settings ∪ the index of queues that queueops has seen (newest first) ∪ RQ's own set."""

    def __init__(self, batch: Batch, keys: Keys, settings: Iterable[str]) -> None:
        self._settings = tuple(settings)
        self._seen: Slot = batch.call("zrevrange", keys.static("queues"), 0, MAX_QUEUES - 1)
        self._rq: Slot = batch.call("sscan", keys.static("rq_queues"), 0, count=MAX_QUEUES)
        self._prefix = keys.of("rq_queue", "")

    def result(self) -> QueueNames:
        found: dict[str, None] = dict.fromkeys(self._settings)
        unreadable = 0
        scanned: Any = self._rq.get((0, []))
        members = [(raw, "") for raw in self._seen.get([])] + [(raw, self._prefix) for raw in scanned[1]]
        for raw, prefix in members:
            name = text(raw)
            if name is None or not name.startswith(prefix):
                unreadable += 1
                continue
            found.setdefault(name[len(prefix) :])
        names = tuple(found)
        return QueueNames(names[:MAX_QUEUES], max(0, len(names) - MAX_QUEUES), unreadable)
