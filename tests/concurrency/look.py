"""What a server holds, read whole (the models are small), and the checks of it against the model."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from queueops.conf import conf
from tests.concurrency.model import Model

K = conf.keys
QUEUES = ("high", "low")
COUNTED = ("accepted", "started", "completed", "failed_attempt", "failed", "retried", "quarantined", "crashed",
           "put_back", "discarded", "duplicate", "gone", "expired", "skipped")  # fmt: skip

_UNREAD = (*(K.of(family, "").encode() for family in ("ten", "minute")), K.static("log").encode())


class Look:
    """The places where jobs can be, by id."""

    def __init__(self, redis: Any) -> None:
        self.redis = redis
        self._all = self._read(redis)
        self.lists = {q: self._list(K.of("rq_queue", q)) for q in QUEUES}
        self.parked = {q: self._dict(K.of("parked", q)) for q in QUEUES}
        self.scheduled = {q: self._dict(K.of("rq_scheduled", q)) for q in QUEUES}
        self.waiting = {q: self._dict(K.of("waiting", q)) for q in QUEUES}
        self.wip = {q: self._dict(K.of("rq_wip", q)) for q in QUEUES}
        self.totals = {q: self._dict(K.of("total", q)) for q in QUEUES}
        self.leases = {token: json.loads(raw) for token, raw in self._dict(K.static("leases")).items()}
        self.ends = self._dict(K.static("lease_ends"))
        self.running = self._dict(K.static("running"))
        self.pump = self._dict(K.static("pump"))
        self.lines = self._family("line")
        self.holders = self._family("holders")
        self.offers = self._family("offers")

    @staticmethod
    def _read(redis: Any) -> dict[str, Any]:
        """Every list, sorted set and hash of the server, in three round trips."""
        keys = [key for key in redis.scan_iter(count=10_000) if not key.startswith(_UNREAD)]
        pipeline = redis.pipeline(transaction=False)
        for key in keys:
            pipeline.type(key)
        kinds = pipeline.execute()
        for key, kind in zip(keys, kinds, strict=True):
            if kind == b"list":
                pipeline.lrange(key, 0, -1)
            elif kind == b"zset":
                pipeline.zrange(key, 0, -1, withscores=True)
            else:
                pipeline.hgetall(key) if kind == b"hash" else pipeline.type(key)
        found: dict[str, Any] = {}
        for key, kind, value in zip(keys, kinds, pipeline.execute(), strict=True):
            if kind == b"list":
                value = [member.decode() for member in value]
            elif kind == b"zset":
                value = {member.decode(): score for member, score in value}
            elif kind == b"hash":
                value = {name.decode(): text.decode(errors="replace") for name, text in value.items()}
            found[key.decode()] = value
        return found

    def _list(self, key: str) -> list[str]:
        found: list[str] = self._all.get(key, [])
        return found

    def _dict(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self._all.get(key, {})
        return found

    def _family(self, family: str) -> dict[str, dict[str, float]]:
        head = K.of(family, "")
        return {key.removeprefix(head): value for key, value in self._all.items() if key.startswith(head)}

    def weights(self, family: str, instance: str) -> dict[str, int]:
        return {member: int(weight) for member, weight in self._dict(K.of(family, instance)).items()}

    def offered(self, instance: str, but: str) -> int:
        """Weight offered to others than the job ``but``."""
        weights = self.weights("offer_weights", instance)
        return sum(weights.get(job, 1) for job in self.offers.get(instance, {}) if job != but)

    def field(self, job: str, name: str) -> str | None:
        found: str | None = self._dict(K.of("rq_job", job)).get(name)
        return found


def check(look: Look, model: Model) -> None:
    """Every invariant that holds between any two steps."""
    _places(look, model)
    _leases(look, model)
    _slots(look, model)
    _lines(look)
    totals: Counter[str] = Counter()
    for queue in QUEUES:
        for event, number in look.totals[queue].items():
            totals[event] += int(number)
    assert {e: totals[e] for e in COUNTED} == {e: model.ledger[e] for e in COUNTED}


def _places(look: Look, model: Model) -> None:
    for job in model.jobs.values():
        listed = look.lists[job.queue].count(job.id)
        parked = int(job.id in look.parked[job.queue])
        scheduled = int(job.id in look.scheduled[job.queue])
        running = int(job.id in look.running)
        places = (listed, parked, scheduled - parked, running)
        expected = {
            "waiting": [(1, 0, 0, 0), (0, 1, 0, 0)],
            "scheduled": [(0, 0, 1, 0)],
            "running": [(0, 0, 0, 1)],
            "ended": [(0, 0, 0, 0)],
        }[job.state]
        assert places in expected, f"{job} is at (list, parked, scheduled, running) {places}"
        if job.state == "waiting" and job.seen:
            assert look.waiting[job.queue].get(job.id) == job.since, f"{job}: waiting since the wrong time"
        else:
            assert job.id not in look.waiting[job.queue], f"{job} is in the index of waiting jobs"
        if parked:
            assert look.field(job.id, "status") == "scheduled"
            assert look.field(job.id, "qo_parked") is not None
    for places_of in (look.lists, look.parked, look.scheduled, look.waiting):
        for queue in QUEUES:
            unknown = set(places_of[queue]) - model.jobs.keys()
            assert not unknown, f"nobody knows {unknown}"


def _leases(look: Look, model: Model) -> None:
    assert look.leases.keys() == model.leases.keys()
    assert look.ends == {token: lease.end for token, lease in model.leases.items()}
    assert look.running == {lease.job.id: token for token, lease in model.leases.items()}
    for queue in QUEUES:
        assert look.wip[queue].keys() == {
            f"{lease.job.id}:{token}" for token, lease in model.leases.items() if lease.job.queue == queue
        }
    for token, record in look.leases.items():
        held = [[claim["i"], claim["w"]] for claim in model.leases[token].holds]
        assert sorted(record["holds"]) == sorted(held)


def _slots(look: Look, model: Model) -> None:
    expected: dict[str, dict[str, float]] = {}
    weights: dict[str, dict[str, int]] = {}
    for token, lease in model.leases.items():
        for claim in lease.holds:
            if claim["k"] != "R":
                expected.setdefault(claim["i"], {})[token] = lease.end
                weights.setdefault(claim["i"], {})[token] = claim["w"]
    assert {i: held for i, held in look.holders.items() if not i.startswith("R:")} == expected
    for instance, held in weights.items():
        stored = look.weights("holder_weights", instance)
        heavy = {token: weight for token, weight in held.items() if weight != 1}
        total = sum(weight - 1 for weight in heavy.values())
        assert stored == ({**heavy, "": total} if heavy else {})
    for instance, offers in look.offers.items():
        stored = look.weights("offer_weights", instance)
        assert stored.pop("", 0) == sum(weight - 1 for weight in stored.values())
        assert stored.keys() <= offers.keys()
        assert offers.keys() <= model.jobs.keys()
        running = [job for job in offers if model.jobs[job].state == "running"]
        assert not running, f"{running} run, and are still offered {instance!r}"


def _lines(look: Look) -> None:
    for instance, line in look.lines.items():
        for job in line:
            assert look.field(job, "qo_parked") == instance, f"{job} is an orphan in the line of {instance!r}"
    for queue in QUEUES:
        for job in look.parked[queue]:
            instance = look.field(job, "qo_parked")
            assert instance == "" or job in look.lines.get(instance or "", {}), f"{job} is parked in no line"


def no_lost_wakeup(look: Look, model: Model) -> None:
    """Nobody at the head of a line could run now: called when a claim has found nothing and nothing is due."""
    for instance, line in look.lines.items():
        if instance.startswith("P:"):
            function = instance[2:].rstrip("\x1f")
            assert f"f:{function}" in model.paused, f"{list(line)} wait for a pause that is over"
            continue
        for job_id in sorted(line, key=lambda job: (line[job], job)):
            job = model.jobs[job_id]
            if not model.eligible(job):
                continue
            offered = {claim["i"]: look.offered(claim["i"], job.id) for claim in job.claims}
            assert not model.fits(job, offered), f"{job} could run, and nobody wakes it"
            break


def nothing_left(redis: Any) -> None:
    """After the last job: no hold, offer, line or index entry."""
    look = Look(redis)
    for name in ("lists", "parked", "scheduled", "waiting", "wip"):
        assert not any(getattr(look, name).values()), name
    assert not look.leases
    assert not look.ends
    assert not look.running
    assert not look.lines
    assert not {instance: held for instance, held in look.holders.items() if not instance.startswith("R:")}
    for family in ("holder_weights", "offer_weights", "offers"):
        assert not list(redis.scan_iter(K.of(family, "") + "*")), family
