"""What people have set: pauses, limits, isolations, RQ's suspension; as the banner shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from queueops.rdb.keys import Keys
from queueops.telemetry.batch import Batch, Slot, decoded, shown
from queueops.telemetry.discovery import MAX_PAUSES


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing in force. ``kind`` is pause, limit, isolate or suspended; ``until`` in µs, 0 for no end."""

    kind: str
    target: str
    by: str = ""
    reason: str = ""
    until: int = 0
    id: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force on a server now."""

    notices: tuple[Notice, ...]
    overrides: dict[str, dict[str, Any]]

    def pause_of(self, queue: str) -> Notice | None:
        """The pause that holds a whole queue, its own before the general one."""
        own = [n for n in self.notices if n.kind == "pause" and n.target == f"q:{queue}"]
        every = [n for n in self.notices if n.kind == "pause" and n.target == "all"]
        return next(iter(own + every), None)


def _in_force(record: dict[str, Any], now: int) -> bool:
    until = record.get("until") or 0
    return isinstance(until, (int, float)) and (until == 0 or until > now)


class SettingsReader:
    """Bounded reads of the mirrored settings."""

    KINDS = (("pause", "paused"), ("isolate", "isolated"), ("limit", "overrides"))

    def __init__(self, batch: Batch, keys: Keys) -> None:
        self._scans: dict[str, Slot] = {
            kind: batch.call("hscan", keys.static(name), 0, count=MAX_PAUSES) for kind, name in self.KINDS
        }
        self._suspended = batch.call("exists", keys.static("rq_suspended"))

    def result(self, now: int) -> Settings:
        notices: list[Notice] = []
        overrides: dict[str, dict[str, Any]] = {}
        if self._suspended.number():
            notices.append(Notice("suspended", "all", reason="suspended with RQ's own command"))
        for kind, slot in self._scans.items():
            scanned: Any = slot.get((0, {}))
            for raw, value in sorted(scanned[1].items())[:MAX_PAUSES]:
                record, target = decoded(value), shown(raw)
                if not _in_force(record, now):
                    continue
                if kind == "limit":
                    overrides[target] = record
                until = int(record.get("until") or 0)
                by, why = str(record.get("by") or ""), str(record.get("reason") or "")
                if kind == "limit":
                    why = why or f"limit {record.get('limit')}"
                notices.append(Notice(kind, target, by, why, until, str(record.get("id") or "")))
        return Settings(tuple(notices), overrides)
