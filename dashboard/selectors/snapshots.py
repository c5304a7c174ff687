"""The shared snapshot, read. One GET per server, remembered for a moment: viewers cost what one costs."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from dashboard.selectors import remembered, store
from dashboard.selectors.snapshot_data import STATES, Need, QueueRow, Restraint, Series, Snapshot, State
from queueops.rdb.client import Server, servers
from queueops.telemetry.batch import decoded
from queueops.telemetry.snapshot import snapshot as compute

PAUSES = 500
"""Pauses read at once."""
REMEMBER = 0.5
"""Seconds for which one reading serves every request of this process."""


def _series(value: Any) -> Series:
    if not isinstance(value, list):
        return ()
    return tuple(float(v) if isinstance(v, (int, float)) else None for v in value[-240:])


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _counts(value: Any) -> dict[str, int]:
    return {str(k): store.number(v) for k, v in value.items()} if isinstance(value, dict) else {}


def _word(record: dict[str, Any], name: str) -> str:
    return str(record.get(name) or "")


def _queue(row: dict[str, Any], server: str) -> QueueRow:
    held, workers, spark = _counts(row.get("held")), _counts(row.get("workers")), row.get("spark") or {}
    return QueueRow(
        name=str(row.get("name", "")),
        server=server,
        max_age=_float(row.get("max_age")) or 60.0,
        oldest_age=_float(row.get("oldest_age")),
        open={state: _counts(row.get("open")).get(state, 0) for state in STATES},
        failed=held.get("failed", 0),
        quarantined=held.get("quarantined", 0),
        inflow=_float(row.get("inflow_per_min")),
        completed=_float(row.get("completed_per_min")),
        failing=_float(row.get("failed_per_min")),
        attempts_failing=_float(row.get("failed_attempts_per_min")),
        paused=row["paused"] if isinstance(row.get("paused"), dict) else None,
        busy=workers.get("busy", 0),
        idle=workers.get("idle", 0),
        spark_in=_series(spark.get("in")),
        spark_out=_series(spark.get("out")),
    )


def parse(data: dict[str, Any], server: str, now: int, reported: bool = True) -> Snapshot:
    """A snapshot's JSON as dataclasses; what is missing (an older monitor) becomes zero or unknown."""
    rows = [row for row in data.get("queues") or [] if isinstance(row, dict)]
    at, totals = store.number(data.get("at")), data.get("totals")
    return Snapshot(
        server=server,
        seq=store.number(data.get("seq")),
        at=at,
        now=now or at,
        level=str(data.get("level") or "unknown"),
        health=str(data.get("health") or ""),
        reported=reported,
        queues=tuple(_queue(row, server) for row in rows),
        workers=_counts(data.get("workers")),
        controls=_counts(data.get("controls")),
        banner=tuple(
            Restraint(
                _word(b, "kind"),
                _word(b, "target"),
                _word(b, "by"),
                _word(b, "reason"),
                until=store.number(b.get("until")),
                server=server,
            )
            for b in data.get("banner") or []
            if isinstance(b, dict)
        ),
        needs=tuple(
            Need(_word(n, "level"), _word(n, "kind"), _word(n, "text"), _word(n, "href"))
            for n in data.get("needs") or []
            if isinstance(n, dict)
        ),
        totals=totals if isinstance(totals, dict) else {},
    )


def _with_pauses(data: dict[str, Any], scanned: Any, now: int) -> dict[str, Any]:
    """The snapshot with the pauses as they are now: the page that follows a pause or a resume must show it."""
    if not isinstance(scanned, tuple):
        return data
    live = {store.text(field): decoded(raw) for field, raw in scanned[1].items()}
    live = {k: v for k, v in sorted(live.items()) if v and (not v.get("until") or store.number(v["until"]) > now)}
    rows = [row for row in data.get("queues") or [] if isinstance(row, dict)]
    banner = [b for b in data.get("banner") or [] if isinstance(b, dict) and b.get("kind") != "pause"]
    pauses = [{**record, "kind": "pause", "target": target} for target, record in live.items()]
    queues = [{**row, "paused": live.get(f"q:{row.get('name')}") or live.get("all")} for row in rows]
    return {**data, "queues": queues, "banner": pauses + banner}


def _now(answer: Any) -> int:
    return int(answer[0]) * 1_000_000 + int(answer[1]) if isinstance(answer, (list, tuple)) and len(answer) == 2 else 0


def _read(server: Server) -> Snapshot:
    """The published snapshot, or, when no monitor reports, one computed now (level unknown: nobody watches)."""
    keys = store.keys()
    answers = store.ask(
        server, lambda pipe: pipe.time().get(keys.static("snapshot")).hscan(keys.static("paused"), 0, count=PAUSES)
    )
    now = _now(answers[0])
    try:
        data = json.loads(answers[1])
    except (TypeError, ValueError):
        data = None
    if isinstance(data, dict) and data.get("v") == 1:
        return parse(_with_pauses(data, answers[2], now), server.alias, now)
    with store.guard(server):
        return parse(compute(server), server.alias, now, reported=False)


_memory: tuple[float, State] | None = None
_lock = threading.Lock()


def current() -> State:
    """All servers' snapshots; a server that does not answer is listed in ``down``."""
    global _memory
    with _lock:
        if _memory and time.monotonic() - _memory[0] < REMEMBER:
            return _memory[1]
        found: list[Snapshot] = []
        down: list[store.Down] = []
        for server in servers():
            try:
                found.append(_read(server))
            except store.StoreDown as error:
                down.append(error.down)
        rows = sorted(
            (row for snapshot in found for row in snapshot.queues),
            key=lambda row: (-(row.oldest_age or 0.0), -row.waiting, row.name),
        )
        state = State(tuple(found), tuple(down), tuple(rows))
        _memory = (time.monotonic(), state)
        return state


def forget() -> None:
    """Drop all remembered readings: the page that follows a change must show it."""
    global _memory
    remembered.forget()
    with _lock:
        _memory = None
