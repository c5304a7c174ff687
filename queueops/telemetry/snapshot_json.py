"""The snapshot's JSON (version 1) from the facts read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from queueops.conf import conf
from queueops.telemetry.buckets import TEN, Rate, TenReader, floor_to
from queueops.telemetry.census import QueueCensus
from queueops.telemetry.clock import US
from queueops.telemetry.events import PLUS
from queueops.telemetry.health import Health, QueueState, judge
from queueops.telemetry.needs import find
from queueops.telemetry.people import Notice
from queueops.telemetry.workers import WorkerInfo
from queueops.telemetry.workers import count as count_workers

if TYPE_CHECKING:
    from queueops.telemetry.snapshot import Facts

PACE = 5
"""Minutes over which a queue's pace is taken."""


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _per_minute(tens: TenReader, name: str, events: Sequence[str]) -> float | None:
    return _rounded(tens.rate(name, events).per_minute)


def _inflow(facts: Facts, name: str) -> tuple[float | None, float | None]:
    """``(everything that came in, what of it no door counted)`` per minute."""
    rate = facts.tens.rate(name, PLUS)
    if rate.per_minute is None:
        return None, None
    more = facts.uncounted.since(name, floor_to(facts.at / US, TEN) - 60, facts.at // US + 1)
    return _rounded(Rate(rate.count + more, rate.seconds).per_minute), _rounded(Rate(more, rate.seconds).per_minute)


def _spark(facts: Facts, name: str) -> dict[str, Any]:
    """The last 60 whole minutes, the last of them up to ``end`` (epoch seconds)."""
    inflow, completed = facts.tens.minutes(name, PLUS), facts.tens.minutes(name, ("completed",))
    return {
        "in": facts.uncounted.minutes(name, inflow.start, inflow.values),
        "out": list(completed.values),
        "end": completed.start + 60 * len(completed.values),
    }


def _pace(facts: Facts, name: str) -> tuple[float | None, float | None]:
    """Mean inflow and completions per minute over the last whole minutes known; None with fewer than two."""
    inflow, completed = facts.tens.minutes(name, PLUS, PACE), facts.tens.minutes(name, ("completed",), PACE)
    pairs = zip(facts.uncounted.minutes(name, inflow.start, inflow.values), completed.values, strict=True)
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if len(known) < 2:
        return None, None
    return sum(a for a, _ in known) / len(known), sum(b for _, b in known) / len(known)


def _until(notice: Notice | None) -> dict[str, Any] | None:
    return None if notice is None else {"until": notice.until, "by": notice.by, "reason": notice.reason}


def _queue(facts: Facts, queue: QueueCensus, serving: Sequence[WorkerInfo]) -> dict[str, Any]:
    tens, name = facts.tens, queue.name
    inflow, uncounted = _inflow(facts, name)
    return {
        "name": name,
        "max_age": conf.max_age(name),
        "oldest_age": _rounded(queue.oldest_age),
        "oldest_job": queue.oldest_job,
        "open": asdict(queue.open),
        "held": asdict(queue.held),
        "inflow_per_min": inflow,
        "uncounted_per_min": uncounted,
        "completed_per_min": _per_minute(tens, name, ("completed",)),
        "failed_per_min": _per_minute(tens, name, ("failed",)),
        "failed_attempts_per_min": _per_minute(tens, name, ("failed_attempt",)),
        "quarantined_per_min": _per_minute(tens, name, ("quarantined",)),
        "totals": dict(queue.totals or {}),
        "paused": _until(facts.settings.pause_of(name)),
        "workers": {
            "busy": sum(1 for w in serving if w.state == "busy"),
            "idle": sum(1 for w in serving if w.state == "idle"),
        },
        "spark": _spark(facts, name),
        "error": queue.error,
    }


def _sum(rates: Sequence[float | None]) -> float | None:
    """Sum of what is known; unknown only when nothing is."""
    known = [rate for rate in rates if rate is not None]
    return _rounded(sum(known)) if known else None


def health_of(facts: Facts) -> Health:
    """The health of a server from its facts."""
    serving = Counter(name for worker in facts.workers if worker.state != "silent" for name in worker.queues)
    states = [
        QueueState(
            queue.name,
            conf.max_age(queue.name),
            queue.oldest_age,
            queue.open.waiting,
            facts.settings.pause_of(queue.name) is not None,
            serving[queue.name],
            *_pace(facts, queue.name),
        )
        for queue in facts.census.queues
    ]
    return judge(states, find(facts), epoch=facts.since is not None)


def as_json(facts: Facts, seq: int) -> dict[str, Any]:
    """The whole snapshot."""
    by_queue: dict[str, list[WorkerInfo]] = {}
    for worker in facts.workers:
        for name in worker.queues:
            by_queue.setdefault(name, []).append(worker)
    queues = [_queue(facts, queue, by_queue.get(queue.name, [])) for queue in facts.census.queues]
    oldest = max((q for q in queues if q["oldest_age"] is not None), key=lambda q: q["oldest_age"], default=None)
    workers = count_workers(facts.workers, facts.workers_known)
    health = health_of(facts)
    return {
        "v": 1,
        "seq": seq,
        "at": facts.at,
        "server": facts.server,
        "healthy": health.healthy,
        "level": health.level,
        "health": health.sentence,
        "queues": queues,
        "queues_left_out": facts.names.left_out,
        "workers": asdict(workers),
        "controls": {
            "full": sum(1 for i in facts.instances if i.full and i.waiters and i.kind != "pause"),
            "waiting": sum(queue.open.parked for queue in facts.census.queues),
            "known": facts.instances_known,
            "looked_at": len(facts.instances),
        },
        "banner": [
            {"kind": n.kind, "target": n.target, "by": n.by, "reason": n.reason, "until": n.until}
            for n in facts.settings.notices
        ],
        "totals": {
            "waiting": sum(queue.open.waiting for queue in facts.census.queues) + facts.census.rate_limited_unplaced,
            "open": sum(queue.open.total for queue in facts.census.queues) + facts.census.rate_limited_unplaced,
            "oldest_age": oldest["oldest_age"] if oldest else None,
            "oldest_queue": oldest["name"] if oldest else None,
            "inflow_per_min": _sum([q["inflow_per_min"] for q in queues]),
            "completed_per_min": _sum([q["completed_per_min"] for q in queues]),
            "failed_per_min": _sum([q["failed_per_min"] for q in queues]),
            "failed": sum(queue.held.failed for queue in facts.census.queues),
            "quarantined": sum(queue.held.quarantined for queue in facts.census.queues),
            "rate_limited_unplaced": facts.census.rate_limited_unplaced,
        },
        "needs": [asdict(need) for need in health.needs],
    }
