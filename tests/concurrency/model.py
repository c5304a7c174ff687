"""A plain Python model of the doors: what they must have done, however they did it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

SECOND = 1_000_000
SERVED = 30 * SECOND
"""µs since a queue's last claim until its waiters are passed over."""

Claims = list[dict[str, Any]]


@dataclass
class Job:
    """``state``: waiting (on its queue or in a line), scheduled, running or ended; times in µs."""

    def __str__(self) -> str:
        return f"{self.id} ({self.state}, {self.function}, {self.queue})"

    id: str
    queue: str
    function: str
    claims: Claims
    since: int
    state: str = "waiting"
    controlled: bool = True
    seen: bool = True
    due: int = 0
    attempts: int = 0
    crashes: int = 0
    token: str = ""


@dataclass
class Lease:
    job: Job
    end: int
    span: int
    holds: Claims
    adopting: bool = False


@dataclass
class Model:
    now: int
    jobs: dict[str, Job] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    charges: dict[str, list[int]] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    limits: dict[str, int] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    ledger: Counter[str] = field(default_factory=Counter)
    crashes: int = 2
    after: int = 3

    def limit(self, claim: dict[str, Any]) -> int:
        return self.limits.get(claim["c"], claim["n"])

    def used(self, claim: dict[str, Any]) -> int:
        """What leases hold of it now; of a rate, the starts in the window."""
        if claim["k"] == "R":
            return sum(1 for at in self.charges.get(claim["i"], []) if at > self.now - claim["per"])
        return sum(own["w"] for lease in self.leases.values() for own in lease.holds if own["i"] == claim["i"])

    def fits(self, job: Job, offered: dict[str, int] | None = None) -> bool:
        """Whether all its claims have room, beside what is offered to others."""
        offered = offered or {}
        return all(
            self.used(claim) + offered.get(claim["i"], 0) + claim["w"] <= self.limit(claim) for claim in job.claims
        )

    def halted(self, job: Job) -> bool:
        return "all" in self.paused or f"q:{job.queue}" in self.paused or f"f:{job.function}" in self.paused

    def eligible(self, job: Job) -> bool:
        """Whether it counts in a line: its function runs, its queue is served, it is not too heavy for ever."""
        served = self.served.get(job.queue)
        heavy = any(claim["k"] != "R" and claim["w"] > self.limit(claim) > 0 for claim in job.claims)
        return not self.halted(job) and served is not None and self.now - served < SERVED and not heavy

    def pass_time(self) -> None:
        """What every claim and tick does first: leases that are over end as crashes."""
        for token in [token for token, lease in self.leases.items() if lease.end <= self.now]:
            self.crash(token)

    def move_due(self, queue: str) -> None:
        if not {"all", f"q:{queue}"} & self.paused:
            for job in self.jobs.values():
                if job.queue == queue and job.state == "scheduled" and job.due <= self.now:
                    job.state, job.since = "waiting", min(job.due, self.now)

    def start(self, job: Job, token: str, span: int, adopting: bool) -> None:
        job.state, job.token, job.seen = "running", token, True
        job.attempts += 1
        holds = [] if adopting else job.claims
        self.leases[token] = Lease(job, self.now + span, span, holds, adopting)
        if not adopting:
            self._began(job)

    def adopt(self, token: str, span: int) -> None:
        lease = self.leases[token]
        lease.adopting, lease.holds, lease.span, lease.end = False, lease.job.claims, span, self.now + span
        lease.job.controlled = True
        self._began(lease.job)

    def unadopted(self, token: str) -> None:
        """Refused at adoption: as if it had never started."""
        lease = self.leases.pop(token)
        self.stale.append(token)
        lease.job.state, lease.job.controlled = "waiting", True
        lease.job.attempts -= 1

    def _began(self, job: Job) -> None:
        self.ledger["started"] += 1
        for claim in job.claims:
            if claim["k"] == "R":
                self.charges.setdefault(claim["i"], []).extend([self.now] * claim["w"])

    def end(self, token: str) -> Job:
        lease = self.leases.pop(token)
        self.stale.append(token)
        if lease.adopting:
            self.ledger["started"] += 1
        return lease.job

    def crash(self, token: str) -> None:
        job = self.end(token)
        job.crashes += 1
        self.ledger["crashed"] += 1
        job.state = "waiting"
        if job.crashes >= self.crashes:
            job.state = "ended"
            self.ledger["quarantined"] += 1

    def put_back(self, token: str, due: int = 0) -> None:
        job = self.end(token)
        job.attempts -= 1
        job.state, job.due = "waiting", due
        self.ledger["put_back"] += 1

    def fail(self, token: str) -> None:
        job = self.end(token)
        job.state = "ended"
        self.ledger["failed_attempt"] += 1
        self.ledger["quarantined" if job.attempts >= self.after else "failed"] += 1

    def retry(self, token: str, due: int = 0) -> None:
        job = self.end(token)
        self.ledger["failed_attempt"] += 1
        self.ledger["retried"] += 1
        job.state, job.due, job.since = ("scheduled", due, due) if due else ("waiting", 0, self.now)

    def finish(self, token: str, event: str) -> None:
        self.end(token).state = "ended"
        self.ledger[event] += 1
