"""What needs a person, beside queues that are late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queueops.rdb.client import FULL
from queueops.telemetry.clock import US
from queueops.telemetry.health import Need, duration_text, link, name_text

if TYPE_CHECKING:
    from queueops.telemetry.snapshot import Facts

DUTY_SILENT = 60.0
"""Seconds after which a duty of the monitor that has not run is reported."""
NOBODY = 5.0
"""Seconds that a job may wait without any worker alive before it is reported: a restart takes some."""
PATIENCE = 30.0
"""Seconds that a job has waited for a hold without a living job behind it, before that is reported."""
MOST = 50


def find(facts: Facts) -> list[Need]:
    """Everything known to be wrong, the worst first, bounded."""
    needs = [*_duties(facts), *_redis(facts), *_workers(facts), *_held(facts), *_controls(facts), *_names(facts)]
    return sorted(needs, key=lambda need: need.level != "bad")[:MOST]


def _held(facts: Facts) -> list[Need]:
    found = []
    for queue in facts.census.queues:
        n = queue.held.quarantined
        if n:
            jobs = "1 job is" if n == 1 else f"{n:,} jobs are"
            text = f"{jobs} in quarantine on {name_text(queue.name)}."
            found.append(Need("warn", "quarantine", text, link("quarantine", queue=queue.name), queue.name))
        failed = queue.held.failed
        if failed:
            jobs = "1 job has" if failed == 1 else f"{failed:,} jobs have"
            text = f"{jobs} failed for good on {name_text(queue.name)}."
            found.append(Need("warn", "failed", text, link("queues", name=queue.name, state="failed"), queue.name))
        if queue.error:
            text = f"{name_text(queue.name)} cannot be read: {queue.error[:120]}"
            found.append(Need("bad", "queue", text, link("queues", name=queue.name), queue.name))
    return found


def _workers(facts: Facts) -> list[Need]:
    silent = [worker for worker in facts.workers if worker.state == "silent"]
    found = []
    for worker in silent[:5]:
        since = f"for {duration_text(worker.quiet)}" if worker.quiet is not None else "for a long time"
        text = f"Worker {name_text(worker.name)} has given no sign of life {since}."
        found.append(Need("warn", "worker", text, link("workers", name=worker.name), worker.name))
    if len(silent) > 5:
        text = f"{len(silent) - 5} more workers are silent."
        found.append(Need("warn", "worker", text, link("workers", state="silent")))
    waiting = sum(queue.open.waiting for queue in facts.census.queues)
    ages = [queue.oldest_age for queue in facts.census.queues if queue.oldest_age is not None]
    alive = any(worker.state != "silent" for worker in facts.workers)
    if waiting and not alive and max(ages, default=NOBODY) >= NOBODY:
        jobs = "1 job waits" if waiting == 1 else f"{waiting:,} jobs wait"
        found.append(Need("bad", "worker", f"{jobs} and no worker is alive.", link("workers")))
    return found


def _controls(facts: Facts) -> list[Need]:
    found = [
        Need("warn", "control", f"{name_text(i.name)} is stopped: its limit is 0.", link("locks", name=i.id), i.id)
        for i in facts.instances
        if i.limit == 0 and i.waiters
    ][:5]
    found += _ownerless(facts)
    if facts.conflicts:
        text = "Two live releases declare a control differently."
        found.append(Need("warn", "control", text, link("locks", conflict="1")))
    return found


def _ownerless(facts: Facts) -> list[Need]:
    """Holds without a living job behind them, for which others have waited a while."""
    lost = [i for i in facts.instances if i.id in facts.gone and i.waiters and (i.oldest_wait or 0) >= PATIENCE]
    lost.sort(key=lambda i: -i.waiters)
    found = []
    for i in lost[:5]:
        name = name_text(f"{i.name} {i.key_text or i.key}".strip())
        wait = "1 job waits" if i.waiters == 1 else f"{i.waiters:,} jobs wait"
        text = f"A hold of {name} has no living job behind it, and {wait} for it."
        found.append(Need("warn", "control", text, link("locks", control=i.control, key=i.key), i.id))
    if len(lost) > 5:
        text = f"{len(lost) - 5} more locks are held without a living job."
        found.append(Need("warn", "control", text, link("locks", kind="gone")))
    return found


def _names(facts: Facts) -> list[Need]:
    left = facts.names.left_out + facts.names.unreadable
    if not left:
        return []
    return [Need("warn", "queue", f"{left} queues are not shown: too many, or their names cannot be read.")]


def _redis(facts: Facts) -> list[Need]:
    found = [Need("bad", "redis", FULL)] if facts.full else []
    for text in facts.duties.get("redis_config", {}).get("warnings") or ():
        found.append(Need("warn", "redis", str(text)[:300]))
    return found


def _duties(facts: Facts) -> list[Need]:
    found = []
    for name, state in sorted(facts.duties.items()):
        error, at = state.get("error"), state.get("at")
        if error:
            found.append(Need("warn", "monitor", f"The monitor's duty {name_text(name)} fails: {str(error)[:150]}"))
        every = state.get("every")
        if isinstance(at, int) and isinstance(every, (int, float)):
            quiet = (facts.at - at) / US
            if quiet > max(DUTY_SILENT, 3 * every):
                text = f"The monitor's duty {name_text(name)} has not run for {duration_text(quiet)}."
                found.append(Need("warn", "monitor", text))
    return found
