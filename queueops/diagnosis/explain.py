"""Why a job is not running: one sentence first, then the facts behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from queueops.diagnosis.job_facts import JobFacts, read
from queueops.diagnosis.wording import by_whom, clock, control, died, moment, span, written
from queueops.models import QuarantinedJob
from queueops.telemetry.controls import InstanceDetail

UNSERVED = 30_000_000
"""A queue that nobody has claimed from for this long (µs) is served by no worker of ours."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line below the sentence."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """``state`` is one of the vocabulary, or ``unknown``; ``next_try`` in µs when it is known."""

    job_id: str
    state: str
    sentence: str
    facts: tuple[Fact, ...] = ()
    queue: str = ""
    function: str = ""
    blocked_by: str = ""
    next_try: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def explain(job_id: str) -> Explanation:
    """Says why the job is not running, from what Redis knows now. Works for half a hash and for unknown ids."""
    return told(job_id, read(job_id))


def told(job_id: str, facts: JobFacts | None) -> Explanation:
    """The same from facts that were read already; None means that no server has the job."""
    return _unknown(job_id) if facts is None else _Teller(facts).tell()


def _unknown(job_id: str) -> Explanation:
    row = None
    if "\x00" not in job_id and len(job_id) <= 255:
        row = QuarantinedJob.objects.filter(job_id=job_id).defer("payload").first()
    if row is None:
        text = "No job has this id: it was never enqueued here, it has expired, or it was deleted."
        return Explanation(job_id, "unknown", text)
    listed = [Fact("quarantined", f"{clock(row.quarantined_at)}: {died(row.reason)}")]
    if row.state == QuarantinedJob.State.REPLAYED:
        text, state = f"It was replayed as {row.replayed_as}; the original is no longer in Redis.", "replayed"
    elif row.state == QuarantinedJob.State.DISCARDED:
        text, state = "It was discarded from quarantine.", "discarded"
    elif row.payload:
        text, state = "Redis has lost this quarantined job; its copy is kept and can be replayed.", "quarantined"
    else:
        text, state = "Redis has lost this quarantined job, and no copy of its data was kept.", "unknown"
    return Explanation(job_id, state, text, tuple(listed), row.queue, row.function)


class _Teller:
    """Puts the facts of one job into words."""

    def __init__(self, facts: JobFacts) -> None:
        self.f = facts
        self.lines: list[Fact] = []
        self.blocked_by = ""
        self.next_try: int | None = None

    def add(self, label: str, text: str) -> None:
        self.lines.append(Fact(label, text))

    def tell(self) -> Explanation:
        state, sentence = self._verdict()
        self._background()
        return Explanation(
            self.f.job_id,
            state,
            sentence,
            tuple(self.lines),
            self.f.queue,
            self.f.function,
            self.blocked_by,
            self.next_try,
        )

    def _verdict(self) -> tuple[str, str]:
        f = self.f
        if f.info:
            return "quarantined", self._quarantined()
        if f.lease:
            return "running", self._running()
        if f.own["replayed_as"]:
            return "replayed", f"It was replayed as {f.own['replayed_as']}."
        if not f.data_bytes:
            return "unknown", (
                "Only half of this job is left: its data is missing. If it is on a queue, the worker that takes it"
                " puts it in quarantine."
            )
        if f.own["parked"] is not None and f.status == "scheduled":
            return "parked", self._parked()
        words = {
            "queued": self._queued,
            "scheduled": self._scheduled,
            "deferred": self._deferred,
            "started": self._started,
        }.get(f.status)
        if words is not None:
            return ("running" if f.status == "started" else f.status), words()
        return self._over()

    def _over(self) -> tuple[str, str]:
        f = self.f
        ended = f" It ended at {written(f.plain['ended_at'])}." if f.plain["ended_at"] else ""
        texts = {
            "finished": ("completed", f"It has run and completed.{ended}"),
            "failed": ("failed", f"It failed and is not tried again by itself; requeue it.{ended}"),
            "stopped": ("failed", f"It was stopped while it ran; requeue it.{ended}"),
            "canceled": ("cancelled", "It was cancelled, or skipped because its control was taken."),
            "rate_limited": ("rate_limited", "RQ's own rate limit holds it back; RQ releases it, not queueops."),
            "ready_to_enqueue": ("deferred", "Its dependencies are done; RQ is about to enqueue it."),
        }
        if f.status in texts:
            return texts[f.status]
        return "unknown", f"Its status {f.status!r} is none that RQ or queueops writes."

    def _quarantined(self) -> str:
        info = self.f.info
        self.add("since", f"{moment(info.get('at'))} ({span(self.f.now - _number(info.get('at')))} ago)")
        self.add(
            "starts", f"{info.get('attempts', 0)}, of which {info.get('crashes', 0)} ended with their process dying"
        )
        reason = died(str(info.get("reason") or "no reason is known"))
        return f"It is in quarantine and does not run until replayed: {reason}."

    def _running(self) -> str:
        f, lease = self.f, self.f.lease
        self.blocked_by = ""
        since = f.now - _number(lease.get("started"))
        if f.lease_end is not None and f.lease_end <= f.now:
            where = lease.get("worker") or "its caller"
            return (
                f"It was running on {where}, whose lease ended {span(f.now - f.lease_end)} ago:"
                " it goes back to its queue, and the crash is counted, as soon as anyone claims."
            )
        if f.lease_end is not None:
            self.add("lease ends", f"in {span(f.lease_end - f.now)}, unless renewed")
        return f"It is running on {lease.get('worker') or 'its caller'} for {span(since)}."

    def _started(self) -> str:
        return "RQ says it is running, but no lease knows it: a worker without queueops runs it, or died running it."

    def _gates(self) -> str:
        """What keeps every job of the queue or function from starting; empty when nothing does."""
        f = self.f
        if f.suspended:
            self.blocked_by = "suspended"
            return "RQ is suspended with its own command: no worker starts anything."
        for field, what in (("all", "everything"), (f"q:{f.queue}", f"queue {f.queue}")):
            if field in f.pauses:
                self.blocked_by = f"pause {what}"
                return f"It waits because {what} is paused {by_whom(f.pauses[field], f.now)}."
        if f"f:{f.function}" in f.pauses:
            self.blocked_by = f"pause function {f.function}"
            return f"It waits because its function is paused {by_whom(f.pauses[f'f:{f.function}'], f.now)}."
        return ""

    def _unserved(self) -> str:
        f = self.f
        if f.served is not None and f.now - f.served < UNSERVED:
            return ""
        self.blocked_by = self.blocked_by or "no worker"
        if f.served is None:
            return f"no worker of queueops has ever taken jobs from queue {f.queue}"
        return f"no worker has asked queue {f.queue} for jobs for {span(f.now - f.served)}"

    def _queued(self) -> str:
        f = self.f
        where = "its place is unknown" if f.length else "it is not on the list"
        if f.position is not None:
            where = f"{f.position} of {f.length} jobs on the list are before it"
        elif f.length > 20_000:
            where = f"more than 20000 of {f.length} jobs are before it"
        self.add("place", where)
        gate, unserved = self._gates(), self._unserved()
        if gate:
            return gate
        for field, record in f.isolations.items():
            self.blocked_by = f"isolation {field}"
            return f"It goes to quarantine when its turn comes: isolated {by_whom(record, f.now)}."
        if unserved:
            return f"It waits because {unserved}."
        if f.position is None and not f.length:
            return "It says queued, but its queue is empty: a worker of plain RQ may be just taking it, or lost it."
        return f"It waits its turn on queue {f.queue}: {where}."

    def _parked(self) -> str:
        f, instance = self.f, self.f.own["parked"] or ""
        unserved = self._unserved()
        self.next_try = f.looked_at
        gate = self._gates()
        if instance.startswith("P:"):
            return gate or "Its function was paused and is resumed: it is let in next."
        if not instance:
            self.add("comes back", moment(f.looked_at))
            return gate or f"It was put off and comes back by itself in {span(_number(f.looked_at) - f.now)}."
        self.blocked_by = self.blocked_by or instance
        line = f.line
        self._line(line)
        name = control(instance, line.info.key_text if line else "")
        place = (
            f"place {f.place + 1} of {line.info.waiters}" if f.place is not None and line else "no place in the line"
        )
        self.add("place in line", place)
        if f.pump is not None:
            self.next_try = max(f.pump, f.now)
        if self.next_try is not None and self.next_try - f.now >= 1_000_000:
            self.add("next try", f"at the latest in {span(self.next_try - f.now)}; at once when room appears")
        if gate:
            return gate
        if unserved:
            return f"It waits for {name} ({place}), and {unserved}."
        return f"It waits for {name}: {self._why_full(line)}; {place}."

    def _why_full(self, line: InstanceDetail | None) -> str:
        if line is None:
            return "nothing is known of it"
        info = line.info
        if info.limit == 0:
            words = "its limit is 0, so nothing starts"
            return f"its limit is 0, set {by_whom(line.override, self.f.now)}" if line.override else words
        if line.holders:
            first = line.holders[0]
            if info.kind == "rate":
                return f"{info.holders} of {info.limit} starts in {span((info.per or 0) * 1_000_000)} are used"
            whose = f"job {first.job} on {first.worker}" if first.job else self._outside(first.token)
            more = f" and {info.holders - 1} more" if info.holders > 1 else ""
            return f"held by {whose}{more} ({info.used:g} of {info.limit})"
        if line.offered:
            first_offer = line.offered[0]
            queue = f"the front of {first_offer.queue}" if first_offer.queue else "the front of its queue"
            return (
                f"{info.used:g} of {info.limit} held, and a slot is offered to {first_offer.job[:8]};"
                f" it stands at {queue}, no worker has taken it yet"
            )
        if info.full:
            return "it is full"
        return "there is room, it is let in next" if self.f.place == 0 else "others wait before it"

    def _outside(self, token: str) -> str:
        return f"job {token}, which took it by hand" if token in self.f.by_hand else "somebody outside a job"

    def _line(self, line: InstanceDetail | None) -> None:
        for held in line.holders[:10] if line and line.info.kind != "rate" else ():
            words = f"job {held.job} on {held.worker}" if held.job else self._outside(held.token)
            if held.held is not None:
                words += f", for {span(held.held * 1_000_000)}"
            if held.left is not None:
                words += f", lease ends in {span(held.left * 1_000_000)} unless renewed"
            self.add("holder " + held.token[:8], words + ("; its owner is gone" if held.orphan else ""))
        if line and line.override:
            self.add("limit", f"set to {line.override.get('limit')} {by_whom(line.override, self.f.now)}")

    def _scheduled(self) -> str:
        f = self.f
        self.next_try = f.due
        if f.due is None:
            return "It says scheduled, but is in no schedule: something removed it by hand."
        gate, unserved = self._gates(), self._unserved()
        if f.due <= f.now:
            return gate or f"Its time came {span(f.now - f.due)} ago; {unserved or 'it is moved to its queue next'}."
        text = f"It is scheduled for {moment(f.due)}, in {span(f.due - f.now)}."
        return f"{text} Until then this holds too: {gate}" if gate else text

    def _deferred(self) -> str:
        open_ = [f"{job} ({status})" for job, status in self.f.parents if status != "finished"]
        for job, status in self.f.parents:
            self.add("depends on", f"{job}: {status}")
        if not open_:
            return "It waits for other jobs, and all that are known have finished: RQ enqueues it next."
        self.blocked_by = f"job {open_[0]}"
        return f"It waits for other jobs to finish: {', '.join(open_[:5])}."

    def _background(self) -> None:
        f = self.f
        self.add("queue", f.queue or "unknown")
        self.add("function", f.function or "unknown: no door of queueops has seen this job yet")
        if f.own["since"] and f.status in ("queued", "scheduled"):
            self.add("waiting for", span(f.now - _number(f.own["since"])))
        for claim in f.claims[:20]:
            self.add("claim", control(claim["i"], str(claim.get("t") or "")))
        if f.own["replay_of"]:
            self.add("replay of", f"{f.own['replay_of']} (replay {f.own['replays'] or '?'})")
        if f.own["claims"] is None and f.known:
            self.add("claims", "none stored: it was enqueued without queueops, which works them out at its start")


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
