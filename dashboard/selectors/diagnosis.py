"""What is known of the queues that are late, for the question why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dashboard.selectors import store
from dashboard.selectors.remembered import Remembered
from dashboard.selectors.snapshot_data import QueueRow, State
from queueops.diagnosis.patterns import Card, Outside, Scene, Work, cards
from queueops.rdb.client import Server, servers
from queueops.rdb.keys import JOB_FIELDS, SEP
from queueops.telemetry.batch import Batch, shown
from queueops.telemetry.clock import from_time
from queueops.telemetry.dependencies import Dependency, measured
from queueops.telemetry.functions import FunctionReader, FunctionStats
from queueops.telemetry.history import Used, Usual, used_lately, usual
from queueops.telemetry.workers import WorkerInfo, WorkerReader

MINUTES = 10
"""Whole minutes looked at."""
MOST = 10
"""Queues explained, the latest first."""
OWN = 10
"""Functions read of each of them; those of its neighbours are among the newest active of all."""
HEADS = 50
"""Parked jobs of a queue that are asked what they wait for."""
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Explained:
    """A late queue with its hypotheses. ``basis`` of its usual pace: hours, minutes, or "" when none is known.
    ``answered``: its server said what was asked; when not, nothing is guessed.
    """

    row: QueueRow
    cards: tuple[Card, ...] = ()
    basis: str = ""
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The latest queues, and how many more are late."""

    queues: tuple[Explained, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one server said: its functions, its workers, and by queue what its parked jobs wait for."""

    functions: tuple[FunctionStats, ...] = ()
    workers: tuple[WorkerInfo, ...] = ()
    blocked: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


_memory: Remembered[_Seen] = Remembered()


def explain(state: State) -> Diagnosis:
    """The late queues with their hypotheses. Two round trips and two queries a server that has late queues."""
    late = [row for row in state.queues if row.is_late]
    late.sort(key=lambda row: (-(row.times_target or 0.0), row.name, row.server))
    found: dict[tuple[str, str], Explained] = {}
    for server in servers():
        rows = [row for row in late[:MOST] if row.server == server.alias]
        if rows:
            found |= {(server.alias, one.row.name): one for one in _explained(server, rows, state)}
    return Diagnosis(
        tuple(found[row.server, row.name] for row in late[:MOST] if (row.server, row.name) in found),
        max(0, len(late) - MOST),
    )


def _explained(server: Server, rows: Sequence[QueueRow], state: State) -> list[Explained]:
    names = tuple(row.name for row in rows)
    known = frozenset(row.name for row in state.queues if row.server == server.alias)
    try:
        seen = _memory.get((server.alias, names), lambda: _read(server, rows, known))
    except store.StoreDown:
        return [Explained(row, answered=False) for row in rows]
    normal = _usual(server, names, state.now)
    minute = state.now // 60_000_000 * 60
    lately = used_lately(server.alias, names, minute - (MINUTES + 1) * 60, minute)
    means = {name: told.means for name, (told, _) in normal.items()}
    found = []
    for row in rows:
        told, basis = normal.get(row.name, (None, ""))
        outside = _outside(lately.get(row.name, {}), told)
        found.append(Explained(row, cards(replace(_scene(row, seen, told, means), outside=outside)), basis))
    return found


def _scene(row: QueueRow, seen: _Seen, known: Usual | None, means: Mapping[str, Mapping[str, float]]) -> Scene:
    mine = [worker for worker in seen.workers if row.name in worker.queues]
    beside = {row.name, *(name for worker in mine if worker.state != "silent" for name in worker.queues)}
    pairs = zip(row.spark_in[-MINUTES:], row.spark_out[-MINUTES:], strict=False)
    states = Counter(worker.state for worker in mine)
    return Scene(
        queue=row.name,
        waiting=row.waiting,
        oldest_age=row.oldest_age,
        max_age=row.max_age,
        minutes=[(a, b) for a, b in pairs if a is not None and b is not None],
        usual_in=known.inflow if known else None,
        usual_out=known.completed if known else None,
        paused=bool(row.paused),
        busy=states["busy"],
        idle=states["idle"],
        silent=states["silent"],
        blocked=_scaled(seen.blocked.get(row.name, {}), row.parked),
        oldest_run=max((w.job_age for w in mine if w.state == "busy" and w.job_age is not None), default=None),
        works=[_work(stats, means) for stats in seen.functions if stats.queue in beside],
    )


def _work(stats: FunctionStats, means: Mapping[str, Mapping[str, float]]) -> Work:
    return Work(
        name=stats.function,
        queue=stats.queue,
        inflow=stats.arrived / MINUTES,
        completed=stats.counts.get("completed", 0) / MINUTES,
        failed_attempts=stats.counts.get("failed_attempt", 0) / MINUTES,
        ran=stats.ran.sum_us / 1e6,
        mean=stats.ran.mean,
        usual_mean=means.get(stats.queue, {}).get(stats.function),
    )


def _outside(lately: Mapping[str, Used], known: Usual | None) -> list[Outside]:
    usual = known.outside if known else {}
    return [
        Outside(name, used.times.percentile(95), usual.get(name), used.errors / used.calls if used.calls else 0.0)
        for name, used in sorted(lately.items())
    ]


def services(now: int) -> tuple[Dependency, ...]:
    """What jobs use outside, of all servers. ``now`` in µs by the clock of Redis."""
    return measured([server.alias for server in servers()], now)


def _scaled(heads: Mapping[str, int], parked: int) -> dict[str, int]:
    """The jobs asked stand for all that are parked; "" is waited for by those that come back by time."""
    looked = sum(heads.values())
    return {control: round(n / looked * parked) for control, n in heads.items() if control}


def _usual(server: Server, queues: Sequence[str], now: int) -> dict[str, tuple[Usual, str]]:
    """From the hours of a day; of a young installation from the minutes of three hours before the last ten."""
    minute, hour = now // 60_000_000 * 60, now // 3_600_000_000 * HOUR
    hours = usual(server.alias, queues, hour - 24 * HOUR, hour - HOUR, width=HOUR)
    found = {name: (told, "hours") for name, told in hours.items()}
    if left := [name for name in queues if name not in found]:
        minutes = usual(server.alias, left, minute - 3 * HOUR, minute - (MINUTES + 5) * 60)
        found |= {name: (told, "minutes") for name, told in minutes.items()}
    return found


def _read(server: Server, rows: Sequence[QueueRow], known: frozenset[str]) -> _Seen:
    """Two round trips, the second only when jobs are parked."""
    keys, batch, parked = store.keys(), Batch(server.connection), Batch(server.connection)
    time, workers = batch.call("time"), WorkerReader(batch, jobs=True)
    readers = [FunctionReader(batch, minutes=MINUTES, whole=True)]
    readers += [FunctionReader(batch, queue=row.name, minutes=MINUTES, size=OWN, whole=True) for row in rows]
    heads = {row.name: batch.call("zrange", keys.of("parked", row.name), 0, HEADS - 1) for row in rows if row.parked}
    with store.guard(server):
        batch.run()
        asked = [
            (name, parked.call("hget", keys.of("rq_job", shown(raw)), JOB_FIELDS["parked"]))
            for name, slot in heads.items()
            for raw in slot.get([])
        ]
        parked.run()
    blocked: dict[str, Counter[str]] = {}
    for name, answer in asked:
        blocked.setdefault(name, Counter())[shown(answer.get()).partition(SEP)[0]] += 1
    functions = {(stats.queue, stats.function): stats for reader in readers for stats in reader.read().rows}
    return _Seen(tuple(functions.values()), tuple(workers.rows(from_time(time.get((0, 0))), known)), blocked)
