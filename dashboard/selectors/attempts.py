"""The attempts of a job and its timeline, from the changelog and RQ's results; nothing is unpickled."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.selectors import store
from dashboard.selectors.changelog import Entry
from queueops.telemetry.batch import shown

MOST = 10
"""Results that RQ keeps of a job."""
LONGEST = 400_000
"""Bytes of a stored traceback that a page is willing to fetch."""
TYPES = {1: "completed", 2: "failed", 3: "stopped", 4: "retried", 5: "failed"}
ENDS = {
    "job.completed": "completed",
    "job.failed": "failed",
    "job.retried": "retried",
    "job.quarantined": "quarantined",
    "job.crashed": "crashed",
    "job.put_back": "put_back",
    "job.postponed": "put_back",
    "job.discarded": "discarded",
}
RUNS, WAITS, BACKS_OFF, OVER = "running", "waiting", "backing off", ""
PHASES = {
    "job.started": RUNS,
    **dict.fromkeys(("job.retried", "job.postponed"), BACKS_OFF),
    **{f"job.{end}": OVER for end in ("completed", "failed", "quarantined", "discarded", "skipped", "cancelled")},
    **{f"job.{end}": OVER for end in ("expired", "gone")},
}
"""What a job does after an event; it waits after any other of its own."""


@dataclass(frozen=True, slots=True)
class Result:
    """One entry of RQ's results stream. Times in µs, 0 when unknown; ``error`` is the stored traceback, inflated."""

    at: int
    outcome: str
    worker: str
    execution: str
    started: int
    ended: int
    error: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """``waited`` and ``ran`` in seconds, None when unknown."""

    number: int
    started: int
    waited: float | None
    ran: float | None
    worker: str
    outcome: str
    said: str
    error: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry of the timeline and the seconds since the one before it (None for the first).

    ``took`` and ``gave_back``: the controls that changed hands in the same step.
    """

    entry: Entry
    after: float | None
    took: tuple[str, ...] = ()
    gave_back: tuple[str, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether the time since then is worth a word."""
        return self.after is not None and self.after >= 0.05


@dataclass(frozen=True, slots=True)
class Spans:
    """How long a job has existed, waited, run and backed off, in seconds, as far as is known."""

    total: float
    waiting: float
    running: float
    backing_off: float
    phase: str
    """What it does now; empty when it is over."""
    since: float
    """Seconds since the newest event."""


def results(raw: Sequence[Sequence[Any]], inflate: Any) -> tuple[Result, ...]:
    """What the script ``job_results`` answered."""
    found = []
    for id_, kind, worker, execution, started, ended, error, length in raw:
        try:
            text = inflate(base64.b64decode(error)) if error else ""
        except (binascii.Error, ValueError):
            text = ""
        found.append(
            Result(
                at=store.number(shown(id_).partition("-")[0]) * 1000,
                outcome=TYPES.get(store.number(kind), "unknown"),
                worker=shown(worker),
                execution=shown(execution),
                started=_us(started),
                ended=_us(ended),
                error=text,
                cut=length > 0 and not error,
            )
        )
    return tuple(found)


def _us(raw: Any) -> int:
    try:
        return int(float(raw) * 1e6)
    except (TypeError, ValueError, OverflowError):
        return 0


@dataclass(slots=True)
class _Run:
    """What is known of one start."""

    started: int = 0
    ended: int = 0
    worker: str = ""
    outcome: str = "running"
    said: str = ""
    error: str = ""
    cut: bool = False


def attempts(entries: Sequence[Entry], kept: Sequence[Result], total: int, now: int, since: int) -> tuple[Attempt, ...]:
    """Oldest first. ``total``: starts counted on the job; ``since``: when it came in (µs, 0 unknown)."""
    runs: dict[str, _Run] = {}
    last = ""
    for entry in entries:
        if entry.event == "job.started":
            last = entry.token or entry.id
            runs[last] = _Run(started=entry.at, worker=entry.worker)
        elif entry.event in ENDS and (entry.token or last)[:8] in runs:
            run = runs[(entry.token or last)[:8]]
            if run.outcome == "running":
                run.ended, run.outcome, run.said = entry.at, ENDS[entry.event], entry.why
    for result in kept:
        run = runs.setdefault(result.execution[:8] or str(result.at), _Run(outcome=result.outcome, ended=result.at))
        run.worker, run.error, run.cut = run.worker or result.worker, result.error, result.cut
        run.started = run.started or result.started
        if run.outcome == "running" or (run.outcome == "failed" and result.outcome == "stopped"):
            run.outcome, run.ended = result.outcome, result.ended or result.at
    ordered = sorted(runs.values(), key=lambda run: run.started or run.ended)
    first = max(1, total - len(ordered) + 1)
    found, before = [], since if first == 1 else 0
    for number, run in enumerate(ordered, first):
        end = run.ended or (now if run.outcome == "running" else 0)
        found.append(
            Attempt(
                number=number,
                started=run.started,
                waited=max(0, run.started - before) / 1e6 if run.started and before else None,
                ran=max(0, end - run.started) / 1e6 if run.started and end else None,
                worker=run.worker,
                outcome=run.outcome,
                said=run.said or (run.error.strip().splitlines() or [""])[-1],
                error=run.error,
                cut=run.cut,
            )
        )
        before = run.ended
    return tuple(found)


def timeline(entries: Sequence[Entry], accepted: int, queue: str) -> tuple[Moment, ...]:
    """The entries with the time between them, begun with when the job came in."""
    listed = list(entries)
    if accepted and (not listed or accepted <= listed[0].at):
        listed.insert(0, Entry("", accepted, "job.accepted", "", "", queue, "", "", "", "", ""))
    moments: list[Moment] = []
    before, at = None, 0
    while at < len(listed):
        # a door tells what it does to each control first, then what became of the job
        took: list[str] = []
        gave: list[str] = []
        while at + 1 < len(listed) and _one_step(listed[at], listed[at + 1]):
            (took if listed[at].event.endswith(".acquired") else gave).append(listed[at].instance)
            at += 1
        entry = listed[at]
        after = None if before is None else max(0, entry.at - before) / 1e6
        moments.append(Moment(entry, after, tuple(took), tuple(gave)))
        before, at = entry.at, at + 1
    return tuple(moments)


def _one_step(entry: Entry, following: Entry) -> bool:
    changed = entry.event.endswith((".acquired", ".released")) and entry.instance != ""
    return (
        changed
        and following.at - entry.at <= 1000
        and (following.event.startswith("job.") or following.event.endswith((".acquired", ".released")))
    )


def whole(moments: Sequence[Moment], starts: int, over: bool) -> bool:
    """Whether the changelog still holds each start of a job, and its end once it is over. It loses the oldest first."""
    events = [moment.entry.event for moment in moments]
    ended = any(PHASES.get(event) == OVER for event in events)
    return events.count("job.started") >= starts and (ended or not over)


def spans(moments: Sequence[Moment], now: int) -> Spans | None:
    """Sums over the timeline, to now while the job is open. None without one."""
    if not moments or not now:
        return None
    sums = dict.fromkeys((RUNS, WAITS, BACKS_OFF, OVER), 0.0)
    phase = WAITS
    for moment in moments:
        sums[phase] += moment.after or 0.0
        if moment.entry.event.startswith("job."):
            phase = PHASES.get(moment.entry.event, WAITS)
    since = max(0, now - moments[-1].entry.at) / 1e6
    sums[phase] += since
    return Spans(
        total=sum(sums.values()) - sums[OVER],
        waiting=sums[WAITS],
        running=sums[RUNS],
        backing_off=sums[BACKS_OFF],
        phase=phase,
        since=since,
    )
