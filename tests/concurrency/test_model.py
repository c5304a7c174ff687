"""The doors against a plain Python model, with a clock that moves only when told to (hypothesis, stateful)."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

import redis as redis_py
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from queueops.conf import conf
from queueops.rdb import doors
from queueops.rdb.scripts import OFFER, SCHEMA, run
from queueops.testing import clock
from tests.concurrency.look import QUEUES, Look, check, no_lost_wakeup, nothing_left
from tests.concurrency.model import SECOND, Job, Model
from tests.scripts.kit import claim

K = conf.keys
LEASE, SPAN = 10, 30
START = 1_800_000_000 * SECOND
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "60"))

queues = st.sampled_from(QUEUES)
served = st.sampled_from([("high", "low"), ("low", "high"), ("low",), ("high",)])
functions = st.sampled_from(["plain", "lock", "sem", "sem", "rate", "both", "both", "all"])
keys = st.sampled_from("aab")
weights = st.sampled_from([1, 1, 2, 3])

OTHERS = (
    *("enqueue_in", "plain_rq", "enqueue_an_open_id_again", "end_too_late", "tick"),
    *("pause", "resume", "limit", "limit", "delete"),
)


def claims_of(function: str, key: str, weight: int) -> list[dict[str, Any]]:
    lock = claim("lock", "m", key, l=LEASE)
    semaphore = claim("semaphore", "s", n=3, w=weight, l=LEASE)
    rate = claim("rate", "r", n=4, per=60)
    return {
        "plain": [], "lock": [lock], "sem": [semaphore], "rate": [rate], "both": [lock, semaphore],
        "all": [lock, semaphore, rate],
    }[function]  # fmt: skip


class DoorsMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        clock.install()
        self.redis = redis_py.Redis.from_url(os.environ["REDIS_URL"])
        self.redis.flushall()
        self.model = Model(START)
        self.number = 0
        clock.stop(self.redis, START)
        run(self.redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")

    def pass_time(self, seconds: float) -> None:
        self.model.now += round(seconds * SECOND)
        clock.stop(self.redis, self.model.now)

    def job(self, queue: str, function: str, key: str, weight: int) -> Job:
        self.pass_time(0.001)  # so that no two jobs have waited equally long
        self.number += 1
        found = Job(f"j{self.number}", queue, function, claims_of(function, key, weight), self.model.now)
        self.model.jobs[found.id] = found
        return found

    def token(self) -> str:
        self.number += 1
        return f"t{self.number}"

    def mapping(self, job: Job, status: str) -> dict[str, Any]:
        return {
            "data": b"x", "status": status, "origin": job.queue, "timeout": 180, "qo_func": job.function,
            "qo_claims": json.dumps(job.claims), "qo_policy": '{"after": 3, "crashes": 2}',
        }  # fmt: skip

    # --- the enqueue door -----------------------------------------------------------------------------------------

    @rule(
        queue=queues,
        function=functions,
        key=keys,
        weight=weights,
        number=st.sampled_from([1, 2, 4]),
        front=st.sampled_from([False, False, True]),
    )
    def enqueue(self, queue: str, function: str, key: str, weight: int, number: int, front: bool) -> None:
        for _ in range(number):
            job = self.job(queue, function, key, weight)
            answer = self.pass_door(job, mode="queue", at_front=front)
            assert answer.code == "OK"
            self.model.ledger["accepted"] += 1

    def pass_door(self, job: Job, status: str = "queued", **more: Any) -> Any:
        mapping = self.mapping(job, status)
        return doors.enqueue(self.redis, job_id=job.id, queue=job.queue, function=job.function, mapping=mapping, **more)

    def enqueue_in(self, data: st.DataObject) -> None:
        job = self.job(data.draw(queues), data.draw(functions), "a", 1)
        due = self.model.now // SECOND + data.draw(st.sampled_from([1, 5, 40]))
        self.pass_door(job, "scheduled", mode="schedule", due=str(due))
        job.state, job.due = "scheduled", due * SECOND
        self.model.ledger["accepted"] += 1

    def plain_rq(self, data: st.DataObject) -> None:
        """A producer that knows nothing of queueops."""
        job = self.job(data.draw(queues), data.draw(functions), "a", 1)
        job.controlled = job.seen = False
        at = datetime.fromtimestamp(job.since / SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        job.since = round(datetime.fromisoformat(at).timestamp() * SECOND)
        mapping = {"data": b"x", "status": "queued", "origin": job.queue, "timeout": 180, "enqueued_at": at}
        self.redis.hset(K.of("rq_job", job.id), mapping=mapping)
        self.redis.rpush(K.of("rq_queue", job.queue), job.id)

    def enqueue_an_open_id_again(self, data: st.DataObject) -> None:
        open_ = [job.id for job in self.model.jobs.values() if job.state != "ended" and job.controlled]
        if open_:
            job = self.model.jobs[data.draw(st.sampled_from(open_))]
            assert self.pass_door(job, mode="queue").code == "DUPLICATE"
            self.model.ledger["duplicate"] += 1

    # --- the claim door -------------------------------------------------------------------------------------------

    @rule(names=served, most=st.sampled_from([1, 2, 3, 20]), adopt=st.sampled_from([True, True, True, False]))
    def claim(self, names: tuple[str, ...], most: int, adopt: bool) -> None:
        for _ in range(most):
            if not self.claim_once(names, adopt):
                break
        else:
            return
        for _ in range(8):
            if not self.redis.zrangebyscore(K.static("pump"), "-inf", self.model.now):
                break
            self.claim_once(names, adopt)
        else:
            return
        no_lost_wakeup(Look(self.redis), self.model)

    @rule(names=served)
    def claim_all(self, names: tuple[str, ...]) -> None:
        self.claim(names, 20, True)

    def claim_once(self, names: tuple[str, ...], adopt: bool) -> bool:
        self.pass_time(0.001)
        model, token = self.model, self.token()
        let_in = self.let_in()
        answer = doors.claim(self.redis, "w1", token, names, span=SPAN, idle=False)
        for name in names:
            model.served[name] = model.now
        model.pass_time()
        for name in names:
            model.move_due(name)
        if not isinstance(answer, doors.Claimed):
            assert isinstance(answer, doors.Empty)
            for name in names:
                if not {"all", f"q:{name}"} & model.paused:
                    assert not self.redis.llen(K.of("rq_queue", name)), f"nothing to run, but {name} is not empty"
            return False
        job = model.jobs[answer.job_id]
        assert job.state == "waiting", f"{job} was started"
        assert job.queue == answer.queue
        assert answer.queue in names
        assert not {"all", f"q:{job.queue}"} & model.paused, f"{job} was started although its queue is paused"
        assert answer.adopt == (not job.controlled)
        assert job.due <= model.now, f"{job} was started before its time"
        for name in names[: names.index(answer.queue)]:
            if not {"all", f"q:{name}"} & model.paused:
                assert not self.redis.llen(K.of("rq_queue", name)), f"{name} was passed over"
        if job.controlled:
            self.may_start(job, let_in)
        span = min([SPAN * SECOND, *(c["l"] for c in job.claims if c["l"])]) if job.controlled else SPAN * SECOND
        model.start(job, token, span, adopting=not job.controlled)
        again = doors.claim(self.redis, "w1", token, names, span=SPAN, idle=False)
        assert isinstance(again, doors.Claimed)
        assert again.job_id == job.id, "the same token asked again got another job"
        if answer.adopt and adopt:
            self.adopt(token)
        return True

    def let_in(self) -> set[tuple[str, str]]:
        """Jobs that have room before any waiter: it is offered to them, or their lease is over by now."""
        over = [lease for lease in self.model.leases.values() if lease.end <= self.model.now]
        offers = Look(self.redis).offers
        return {(job, i) for i, jobs in offers.items() for job in jobs} | {
            (lease.job.id, hold["i"]) for lease in over for hold in lease.holds
        }

    def may_start(self, job: Job, let_in: set[tuple[str, str]]) -> None:
        model = self.model
        assert not model.halted(job), f"{job} was started although paused"
        assert model.fits(job), f"{job} was started beyond a limit"
        look = Look(self.redis)
        for own in job.claims:
            if (job.id, own["i"]) in let_in:
                continue
            for other_id, since in look.lines.get(own["i"], {}).items():
                other = model.jobs[other_id]
                late = since < job.since and model.eligible(other)
                assert not late, f"{job} passed {other} in the line of {own['i']!r}"

    def adopt(self, token: str) -> None:
        model, job = self.model, self.model.leases[token].job
        let_in = self.let_in()
        policy = '{"after": 3, "crashes": 2}'
        code = doors.adopt(self.redis, token, json.dumps(job.claims), job.function, policy, SPAN, False)
        if code == "TAKEN":
            self.may_start(job, let_in)
            model.adopt(token, min([SPAN * SECOND, *(c["l"] for c in job.claims if c["l"])]))
        else:
            assert code == "PARKED"
            model.unadopted(token)

    # --- settle and renew -----------------------------------------------------------------------------------------

    def live(self, data: st.DataObject) -> str:
        return str(data.draw(st.sampled_from(sorted(self.model.leases))))

    def settle(self, token: str, outcome: str, *commands: tuple[Any, ...], **options: Any) -> None:
        answer = doors.settle(self.redis, token, outcome, commands=commands, **options)
        assert answer.code == "OK"

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), outcome=st.sampled_from(["completed", "completed", "failed", "discarded", "crashed"]))
    def end(self, data: st.DataObject, outcome: str) -> None:
        token = self.live(data)
        job = self.model.leases[token].job
        key = K.of("rq_job", job.id)
        if outcome == "completed":
            self.settle(token, outcome, ("HSET", key, "status", "finished"))
            self.model.finish(token, "completed")
        elif outcome == "failed":
            self.settle(token, outcome, ("HSET", key, "status", "failed"))
            self.model.fail(token)
        elif outcome == "crashed":
            self.keeps_its_room(token, "crashed", reason="signal 9")
            self.model.crash(token)
        else:
            self.settle(token, outcome)
            self.model.finish(token, "discarded")

    def keeps_its_room(self, token: str, outcome: str, **options: Any) -> None:
        """A job that comes back is let in before any waiter."""
        lease = self.model.leases[token]
        self.settle(token, outcome, **options)
        poison = outcome == "crashed" and lease.job.crashes + 1 >= self.model.crashes
        for hold in lease.holds:
            if hold["k"] != "R" and not poison and not self.model.halted(lease.job):
                offer = self.redis.zscore(K.of("offers", hold["i"]), lease.job.id)
                assert offer == self.model.now + OFFER, f"{lease.job} came back and lost its room"

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), how=st.sampled_from(["put_back", "postponed", "retried", "retried later"]))
    def come_again(self, data: st.DataObject, how: str) -> None:
        token, model = self.live(data), self.model
        job = model.leases[token].job
        key = K.of("rq_job", job.id)
        if how == "put_back":
            self.keeps_its_room(token, "put_back")
            model.put_back(token)
        elif how == "postponed":
            self.settle(token, "postponed", seconds=5)
            model.put_back(token, due=model.now + 5 * SECOND)
        elif how == "retried":
            pushed = ("RPUSH", K.of("rq_queue", job.queue), job.id)
            self.settle(token, "retried", ("HSET", key, "status", "queued"), pushed)
            model.retry(token)
        else:
            due = model.now // SECOND + 3
            scheduled = ("ZADD", K.of("rq_scheduled", job.queue), due, job.id)
            self.settle(token, "retried", ("HSET", key, "status", "scheduled"), scheduled)
            model.retry(token, due=due * SECOND)

    def end_too_late(self, data: st.DataObject) -> None:
        if self.model.stale:
            token = data.draw(st.sampled_from(self.model.stale))
            outcome = data.draw(st.sampled_from(["completed", "failed", "crashed", "put_back"]))
            commands = [("RPUSH", K.of("rq_queue", "high"), "nobody")]
            assert doors.settle(self.redis, token, outcome, commands=commands).code == "LOST"
            assert not doors.renew(self.redis, token, 60)

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), seconds=st.sampled_from([0, 3, 9, 11, 29]))
    def renew(self, data: st.DataObject, seconds: float) -> None:
        self.pass_time(seconds)
        token, model = self.live(data), self.model
        lease = model.leases[token]
        held = doors.renew(self.redis, token, 60)
        assert held == (lease.end > model.now)
        if held:
            lease.end = max(lease.end, model.now + lease.span)
        else:
            model.crash(token)

    # --- time and people ------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.5, 2.5, 2.5, 6, 11, 31, 31, 61, 301]))
    def advance(self, seconds: float) -> None:
        self.pass_time(seconds)

    @rule(
        data=st.data(),
        what=st.sampled_from(OTHERS),
    )
    def do(self, data: st.DataObject, what: str) -> None:
        getattr(self, what)(data)

    def tick(self, data: st.DataObject) -> None:
        names = data.draw(served)
        run(self.redis, "tick", json.dumps(list(names)), doors.now_text()[0])
        self.model.pass_time()
        for name in names:
            self.model.move_due(name)

    def pause(self, data: st.DataObject) -> None:
        field = data.draw(st.sampled_from(["q:high", "q:low", "f:lock", "f:sem", "f:plain", "all"]))
        run(self.redis, "pause", field, json.dumps({"until": 0, "by": "x", "reason": "x", "id": field}), "x", "x")
        self.model.paused.add(field)

    def resume(self, data: st.DataObject) -> None:
        if self.model.paused:
            self.lift(data.draw(st.sampled_from(sorted(self.model.paused))))

    def lift(self, field: str) -> None:
        self.model.paused.discard(field)
        run(self.redis, "resume", field, "", "x", "x", 100)

    def limit(self, data: st.DataObject) -> None:
        number, control = data.draw(st.sampled_from([0, 1, 2, 5])), data.draw(st.sampled_from(["S:s", "S:s", "R:r"]))
        record = json.dumps({"limit": number, "until": 0, "by": "x", "id": str(number)})
        run(self.redis, "limit", "set", control, record, "x", "x", control + "\x1f")
        self.model.limits[control] = number

    def delete(self, data: st.DataObject) -> None:
        there = [job.id for job in self.model.jobs.values() if job.state in ("waiting", "scheduled")]
        if there:
            job = self.model.jobs[data.draw(st.sampled_from(there))]
            doors.forget(self.redis, job.id, job.queue, "discarded")
            self.redis.lrem(K.of("rq_queue", job.queue), 0, job.id)
            self.redis.zrem(K.of("rq_scheduled", job.queue), job.id)
            self.redis.delete(K.of("rq_job", job.id))
            job.state = "ended"
            self.model.ledger["discarded"] += 1

    @invariant()
    def everything_agrees(self) -> None:
        if hasattr(self, "model"):
            check(Look(self.redis), self.model)

    def teardown(self) -> None:
        """With nothing in the way, every job ends, in bounded time."""
        try:
            if hasattr(self, "model"):
                self.everything_ends()
        finally:
            clock.remove()
            self.redis.flushall()
            self.redis.close()

    def everything_ends(self) -> None:
        model = self.model
        for field in sorted(model.paused):
            self.lift(field)
        model.limits.clear()
        for control in ("S:s", "R:r"):
            run(self.redis, "limit", "lift", control, "", "x", "x", control + "\x1f")
        for _ in range(40 + 5 * len(model.jobs)):
            for token in sorted(model.leases):
                key = K.of("rq_job", model.leases[token].job.id)
                self.settle(token, "completed", ("HSET", key, "status", "finished"))
                model.finish(token, "completed")
            if all(job.state == "ended" for job in model.jobs.values()):
                break
            if not self.claim_once(("high", "low"), adopt=True):
                self.pass_time(2.5)
        else:
            left = [job for job in model.jobs.values() if job.state != "ended"]
            raise AssertionError(f"never run: {left}")
        check(Look(self.redis), model)
        self.pass_time(2.5)
        run(self.redis, "tick", json.dumps(list(QUEUES)), doors.now_text()[0])
        nothing_left(self.redis)


TestDoors = DoorsMachine.TestCase
TestDoors.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    deadline=None,
    derandomize="MODEL_EXAMPLES" not in os.environ,
    database=None,
    phases=[Phase.generate] if os.environ.get("NOSHRINK") else [Phase.generate, Phase.shrink],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
