"""Why a job is not running: one sentence first, then the facts behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queueops.diagnosis.job_facts import JobFacts, read
from queueops.diagnosis.wording import by_whom, clock, control, moment, reason_words, span, written
from queueops.models import QuarantinedJob
from queueops.telemetry.controls import HolderInfo, InstanceDetail

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
        text = _("No job has this id: it was never enqueued here, it has expired, or it was deleted.")
        return Explanation(job_id, "unknown", text)
    listed = [Fact("quarantined", f"{clock(row.quarantined_at)}: {reason_words(row.reason)}")]
    if row.state == QuarantinedJob.State.REPLAYED:
        text, state = (
            _("It was replayed as %(job)s; the original is no longer in Redis.") % {"job": row.replayed_as},
            "replayed",
        )
    elif row.state == QuarantinedJob.State.DISCARDED:
        text, state = _("It was discarded from quarantine."), "discarded"
    elif row.payload:
        text, state = _("Redis has lost this quarantined job; its copy is kept and can be replayed."), "quarantined"
    else:
        text, state = _("Redis has lost this quarantined job, and no copy of its data was kept."), "unknown"
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
            return "replayed", _("It was replayed as %(job)s.") % {"job": f.own["replayed_as"]}
        if not f.data_bytes:
            return "unknown", _(
                "Only half of this job is left: its data is missing. If it is on a queue, the worker that takes it "
                "puts it in quarantine."
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
        at = f.plain["ended_at"]
        ended = " " + _("It ended at %(time)s.") % {"time": written(at)} if at else ""
        texts = {
            "finished": ("completed", _("It has run and completed.") + ended),
            "failed": ("failed", _("It failed and is not tried again by itself; requeue it.") + ended),
            "stopped": ("failed", _("It was stopped while it ran; requeue it.") + ended),
            "canceled": ("cancelled", _("It was cancelled, or skipped because its control was taken.")),
            "rate_limited": ("rate_limited", _("RQ's own rate limit holds it back; RQ releases it, not queueops.")),
            "ready_to_enqueue": ("deferred", _("Its dependencies are done; RQ is about to enqueue it.")),
        }
        if f.status in texts:
            return texts[f.status]
        return "unknown", _("Its status %(status)s is none that RQ or queueops writes.") % {"status": repr(f.status)}

    def _quarantined(self) -> str:
        info = self.f.info
        ago = {"time": moment(info.get("at")), "span": span(self.f.now - _number(info.get("at")))}
        self.add("since", _("%(time)s (%(span)s ago)") % ago)
        starts = {"n": info.get("attempts", 0), "crashes": info.get("crashes", 0)}
        self.add("starts", _("%(n)s, of which %(crashes)s ended with their process dying") % starts)
        reason = reason_words(str(info.get("reason") or ""))
        return _("It is in quarantine and does not run until replayed: %(reason)s.") % {"reason": reason}

    def _running(self) -> str:
        f, lease = self.f, self.f.lease
        self.blocked_by = ""
        since = f.now - _number(lease.get("started"))
        if f.lease_end is not None and f.lease_end <= f.now:
            return _(
                "It was running on %(worker)s, whose lease ended %(span)s ago: it goes back to its queue, and the "
                "crash is counted, as soon as anyone claims."
            ) % {"worker": lease.get("worker") or _("its caller"), "span": span(f.now - f.lease_end)}
        if f.lease_end is not None:
            self.add("lease ends", _("in %(span)s, unless renewed") % {"span": span(f.lease_end - f.now)})
        where = {"worker": lease.get("worker") or _("its caller"), "span": span(since)}
        return _("It is running on %(worker)s for %(span)s.") % where

    def _started(self) -> str:
        return _("RQ says it is running, but no lease knows it: a worker without queueops runs it, or died running it.")

    def _gates(self) -> str:
        """What keeps every job of the queue or function from starting; empty when nothing does."""
        f = self.f
        if f.suspended:
            self.blocked_by = "suspended"
            return _("RQ is suspended with its own command: no worker starts anything.")
        for field, what in (
            ("all", _("everything")),
            (f"q:{f.queue}", _("queue %(name)s") % {"name": f.queue}),
        ):
            if field in f.pauses:
                self.blocked_by = f"pause {what}"
                return _("It waits because %(what)s is paused %(who)s.") % {
                    "what": what,
                    "who": by_whom(f.pauses[field], f.now),
                }
        if f"f:{f.function}" in f.pauses:
            self.blocked_by = f"pause function {f.function}"
            who = by_whom(f.pauses[f"f:{f.function}"], f.now)
            return _("It waits because its function is paused %(who)s.") % {"who": who}
        return ""

    def _unserved(self) -> str:
        f = self.f
        if f.served is not None and f.now - f.served < UNSERVED:
            return ""
        self.blocked_by = self.blocked_by or "no worker"
        if f.served is None:
            return _("no worker of queueops has ever taken jobs from queue %(queue)s") % {"queue": f.queue}
        asked = {"queue": f.queue, "span": span(f.now - f.served)}
        return _("no worker has asked queue %(queue)s for jobs for %(span)s") % asked

    def _queued(self) -> str:
        f = self.f
        where = _("its place is unknown") if f.length else _("it is not on the list")
        if f.position is not None:
            where = _("%(n)s of %(all)s jobs on the list are before it") % {"n": f.position, "all": f.length}
        elif f.length > 20_000:
            where = _("more than 20000 of %(all)s jobs are before it") % {"all": f.length}
        self.add("place", where)
        gate, unserved = self._gates(), self._unserved()
        if gate:
            return gate
        for field, record in f.isolations.items():
            self.blocked_by = f"isolation {field}"
            return _("It goes to quarantine when its turn comes: isolated %(who)s.") % {"who": by_whom(record, f.now)}
        if unserved:
            return _("It waits because %(why)s.") % {"why": unserved}
        if f.position is None and not f.length:
            return _("It says queued, but its queue is empty: a worker of plain RQ may be just taking it, or lost it.")
        return _("It waits its turn on queue %(queue)s: %(where)s.") % {"queue": f.queue, "where": where}

    def _parked(self) -> str:
        f, instance = self.f, self.f.own["parked"] or ""
        unserved = self._unserved()
        self.next_try = f.looked_at
        gate = self._gates()
        if instance.startswith("P:"):
            return gate or _("Its function was paused and is resumed: it is let in next.")
        if not instance:
            self.add("comes back", moment(f.looked_at))
            back = {"span": span(_number(f.looked_at) - f.now)}
            return gate or _("It was put off and comes back by itself in %(span)s.") % back
        self.blocked_by = self.blocked_by or instance
        line = f.line
        self._line(line)
        name = control(instance, line.info.key_text if line else "")
        place = _("no place in the line")
        if f.place is not None and line:
            place = _("place %(n)s of %(all)s") % {"n": f.place + 1, "all": line.info.waiters}
        self.add("place in line", place)
        if f.pump is not None:
            self.next_try = max(f.pump, f.now)
        if self.next_try is not None and self.next_try - f.now >= 1_000_000:
            latest = {"span": span(self.next_try - f.now)}
            self.add("next try", _("at the latest in %(span)s; at once when room appears") % latest)
        if gate:
            return gate
        if unserved:
            return _("It waits for %(name)s (%(place)s), and %(why)s.") % {
                "name": name,
                "place": place,
                "why": unserved,
            }
        too_heavy = self._too_heavy(instance, line)
        if too_heavy:
            return too_heavy
        return _("It waits for %(name)s: %(why)s; %(place)s.") % {
            "name": name,
            "why": self._why_full(line),
            "place": place,
        }

    def _too_heavy(self, instance: str, line: InstanceDetail | None) -> str:
        """A weight above the limit in force: it waits for another limit, not for room."""
        weight = next((int(_number(c.get("w"))) for c in self.f.claims if c.get("i") == instance), 1)
        limit = line.info.capacity if line else None
        if line is None or not limit or weight <= limit:
            return ""
        name = control(instance, line.info.key_text)
        words = _(
            "It weighs %(weight)s, and the limit of %(name)s is %(limit)s: it cannot start before that is raised."
        )
        return words % {"weight": weight, "name": name, "limit": limit}

    def _why_full(self, line: InstanceDetail | None) -> str:
        if line is None:
            return _("nothing is known of it")
        info = line.info
        if info.limit == 0:
            if line.declared.override:
                return _("its limit is 0, set %(who)s") % {"who": by_whom(line.declared.override, self.f.now)}
            return _("its limit is 0, so nothing starts")
        if line.holders:
            first = line.holders[0]
            if info.kind == "rate":
                used = {"n": f"{info.used:g}", "limit": info.capacity, "span": span((info.per or 0) * 1_000_000)}
                return _("%(n)s of %(limit)s starts in %(span)s are used") % used
            if info.kind == "breaker":
                failed = {"n": info.holders, "span": span((info.per or 0) * 1_000_000)}
                return _("it is open after %(n)s failures in %(span)s") % failed
            whose = self._holder(first)
            if info.holders > 1:
                more = info.holders - 1
                whose = ngettext("%(whose)s and %(n)s more", "%(whose)s and %(n)s more", more) % {
                    "whose": whose,
                    "n": more,
                }
            return _("held by %(whose)s (%(used)s of %(limit)s)") % {
                "whose": whose,
                "used": f"{info.used:g}",
                "limit": info.limit,
            }
        if line.offered:
            first_offer = line.offered[0]
            return _(
                "%(used)s of %(limit)s held, and a slot is offered to %(job)s; it stands at the front of %(queue)s, "
                "no worker has taken it yet"
            ) % {
                "used": f"{info.used:g}",
                "limit": info.limit,
                "job": first_offer.job[:8],
                "queue": first_offer.queue or _("its queue"),
            }
        if info.full:
            return _("it is full")
        return _("there is room, it is let in next") if self.f.place == 0 else _("others wait before it")

    def _holder(self, held: HolderInfo) -> str:
        if held.job and held.worker:
            return _("job %(job)s on %(worker)s") % {"job": held.job, "worker": held.worker}
        if held.job:
            return _("job %(job)s") % {"job": held.job}
        if held.by_hand:
            return _("job %(job)s, which took it by hand") % {"job": held.token}
        return _("somebody outside a job")

    def _line(self, line: InstanceDetail | None) -> None:
        for held in line.holders[:10] if line and line.info.kind != "rate" else ():
            words = [self._holder(held)]
            if held.held is not None:
                words.append(_("for %(span)s") % {"span": span(held.held * 1_000_000)})
            if held.left is not None:
                words.append(_("lease ends in %(span)s unless renewed") % {"span": span(held.left * 1_000_000)})
            if held.orphan:
                words.append(_("its owner is gone"))
            self.add("holder " + held.token[:8], _(", ").join(words))
        if line and line.declared.override:
            who = {"limit": line.declared.override.get("limit"), "who": by_whom(line.declared.override, self.f.now)}
            self.add("limit", _("set to %(limit)s %(who)s") % who)

    def _scheduled(self) -> str:
        f = self.f
        self.next_try = f.due
        if f.due is None:
            return _("It says scheduled, but is in no schedule: something removed it by hand.")
        gate, unserved = self._gates(), self._unserved()
        if f.due <= f.now:
            came = {"span": span(f.now - f.due), "what": unserved or _("it is moved to its queue next")}
            return gate or _("Its time came %(span)s ago; %(what)s.") % came
        at = {"time": moment(f.due), "span": span(f.due - f.now)}
        text = _("It is scheduled for %(time)s, in %(span)s.") % at
        return f"{text} " + _("Until then this holds too: %(gate)s") % {"gate": gate} if gate else text

    def _deferred(self) -> str:
        open_ = [f"{job} ({status})" for job, status in self.f.parents if status != "finished"]
        for job, status in self.f.parents:
            self.add("depends on", f"{job}: {status}")
        if not open_:
            return _("It waits for other jobs, and all that are known have finished: RQ enqueues it next.")
        self.blocked_by = f"job {open_[0]}"
        never = [job for job, status in self.f.parents if status == "canceled"]
        if never:
            return _(
                "It waits for %(jobs)s, which was cancelled, discarded or skipped and will not finish: "
                "it stays deferred. Discard it, or enqueue it anew."
            ) % {"jobs": ", ".join(never[:5])}
        return _("It waits for other jobs to finish: %(jobs)s.") % {"jobs": ", ".join(open_[:5])}

    def _background(self) -> None:
        f = self.f
        self.add("queue", f.queue or _("unknown"))
        self.add("function", f.function or _("unknown: no door of queueops has seen this job yet"))
        if f.own["since"] and f.status in ("queued", "scheduled"):
            self.add("waiting for", span(f.now - _number(f.own["since"])))
        for claim in f.claims[:20]:
            self.add("claim", control(claim["i"], str(claim.get("t") or "")))
        if f.own["replay_of"]:
            again = {"job": f.own["replay_of"], "n": f.own["replays"] or "?"}
            self.add("replay of", _("%(job)s (replay %(n)s)") % again)
        if f.own["claims"] is None and f.known:
            self.add("claims", _("none stored: it was enqueued without queueops, which works them out at its start"))


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
