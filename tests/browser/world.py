"""A shop at a bad hour, made through the doors: every page has something of each kind to show."""

from __future__ import annotations

import json
from typing import Any

from queueops.mirror import rebuild
from queueops.operations import Selection, copies, isolate, limit, pause, quiet, run_now
from queueops.rdb import doors as calls
from queueops.rdb.client import default_server
from queueops.telemetry.job_pages import JobFilter
from queueops.telemetry.snapshot import dumps, snapshot
from tests.dashboard.rollups import FUNCTION, rolled_up
from tests.scripts.kit import Doors, K, claim

WHO = {"actor": "mika", "reason": "the courier is slow; see the call of 14:10"}
DISK = claim("semaphore", "report-disk", n=2, l=30)
KEY = "book:" + "9" * 60
BOOK = claim("lock", "book", KEY, l=30)
MAIL = claim("rate", "mail", "user:7", n=5, per=60)
LABEL = "shop.jobs.print_label"
REPORT = "shop.reports.quarterly.build_the_very_long_report_of_all_branches"
ERROR = "ValueError: street is empty"


class World:
    """The ids of one job of each state are kept as ``running``, ``parked``, ``failed`` and so on."""

    def __init__(self, redis: Any) -> None:
        self.redis = redis
        self.doors = Doors(redis, span=900)
        rebuild(default_server())
        self.tokens: dict[str, str] = {}
        semaphore = {"kind": "semaphore", "limit": 2, "lease": 30_000_000}
        rate = {"kind": "rate", "limit": 5, "per": 60_000_000}
        calls.publish(redis, "2026-03-12", {DISK["c"]: semaphore, MAIL["c"]: rate})
        for name in ("w-alpha", "w-beta"):
            self.worker(name)
        self._held()
        self._locks()
        self._waiting()

    def worker(self, name: str) -> None:
        """RQ's own record of a worker; what it runs comes with its claims."""
        born = {"queues": "default,mail", "birth": "2026-03-12T08:00:00.000000Z", "hostname": "shop-1", "pid": "4711"}
        self.redis.sadd(K.static("rq_workers"), K.of("rq_worker", name))
        self.redis.hset(K.of("rq_worker", name), mapping=born)

    def job(self, *claims: Any, text: str = "(order_id=1)", function: str = LABEL, **more: Any) -> str:
        """A job on ``default``; ``text`` is how its call is described."""
        mapping = {"description": f"{function}{text}", **more.pop("mapping", {})}
        return self.doors.enqueue(*claims, function=function, mapping=mapping, **more)

    def start(self, *queues: str, worker: str = "w-alpha") -> str:
        """The next job runs; its token is kept."""
        found = self.doors.start(*queues, worker=worker)
        assert found is not None
        self.tokens[found[0]] = found[1]
        return found[0]

    def fail(self, **options: Any) -> str:
        """A new job that runs and fails for good."""
        job = self.job(text=options.pop("text", "(order_id=1)"))
        assert self.start() == job
        ended = [
            ("HSET", K.of("rq_job", job), "status", "failed", "ended_at", "2026-03-12T14:32:00.000000Z"),
            ("ZADD", K.of("rq_failed", "default"), "4000000000", job),
        ]
        said = {"error": ERROR, "fingerprint": "ab12cd34ef", "function": LABEL, "seconds": 0.4}
        self.doors.settle(self.tokens[job], "failed", commands=ended, **said, **options)
        return job

    def _held(self) -> None:
        """Jobs that failed, and jobs in quarantine with their copies."""
        for n in range(3):
            self.failed = self.fail(text=f"(order_id={n}, street='')")
        for n in range(4):
            text = f"(order_id={40 + n}, password='hunter2')"
            self.quarantined = self.fail(text=text, quarantine=1, reason="too often")
        copies.sync(default_server())

    def _locks(self) -> None:
        """Two holders of two, of which one lost its owner; three waiters; a rate; a lock with a long key."""
        for worker in ("w-who-left", "w-alpha"):
            self.job(DISK, function=REPORT)
            self.running = self.start(worker=worker)
        self.worker("w-who-left")
        self.redis.zincrby(K.static("workers"), -90_000_000, "w-who-left")
        for branch in ("Osaka", "Kobe", "Nara"):
            self.parked = self.job(DISK, function=REPORT, text=f"(branch='{branch}', token='s3cret')")
        assert self.doors.start(worker="w-beta") is None
        for job in self.doors.line(DISK["i"]):
            self.redis.zincrby(K.of("line", DISK["i"]), -90_000_000, job)
        self.job(MAIL, BOOK, queue="mail")
        self.start("mail", worker="w-beta")

    def _waiting(self) -> None:
        """Queued, scheduled and recurring jobs."""
        for n in range(4):
            self.queued = self.job(job_id=f"wait-{n}", text=f"(order_id={n})")
        for n in range(12):
            later = {"mode": "schedule", "due": "+90000", "mapping": {"status": "scheduled"}}
            self.scheduled = self.job(job_id=f"due-{n:02d}", text=f"(order_id={n})", **later)
        entry = {"func_name": "shop.jobs.nightly", "queue_name": "default", "cron": "0 3 * * *", "args": "[]"}
        self.redis.zadd(K.static("rq_cron_schedulers"), {"s": 1})
        self.redis.hset(K.of("rq_cron_scheduler", "s"), "cron_jobs", json.dumps([entry]))

    def intervene(self) -> None:
        """Something of each kind in force, and bulk work half way."""
        pause("queue", "mail", seconds=1800, **WHO)
        pause("function", LABEL, **WHO)
        isolate("function", REPORT, seconds=3600, **WHO)
        limit(DISK["c"], 1, seconds=600, **WHO)
        quiet("w-beta", **WHO)
        run_now(Selection(where=JobFilter("scheduled", text="order_id=1")), background=True, rate=0.1, **WHO)

    def look_back(self) -> None:
        """Half an hour of minutes with a hole, for the charts."""
        now = int(self.redis.time()[0])
        rolled_up("default", now - 1800, 28, range(9, 14))

    def tell(self) -> None:
        """A snapshot of now, as the monitor makes it; the two workers that are well have just said so."""
        seconds, micros = self.redis.time()
        self.redis.zadd(K.static("workers"), dict.fromkeys(("w-alpha", "w-beta"), seconds * 1_000_000 + micros))
        self.redis.set(K.static("snapshot"), dumps(snapshot(default_server())), px=60_000)


PAGES = (
    "/", "/queues/", "/queues/?name=default", "/queues/?name=mail&state=parked", "/queues/?name=nope",
    "/jobs/", "/jobs/?state=failed&q=label", "/jobs/?state=scheduled", "/jobs/?state=parked", "/jobs/?state=running",
    "/jobs/?state=recurring", "/jobs/?state=deferred&older=soon",
    "/jobs/{parked}/", "/jobs/{running}/", "/jobs/{failed}/", "/jobs/{quarantined}/", "/jobs/{scheduled}/",
    "/jobs/never-was/", "/workers/", "/workers/?state=silent",
    "/locks/", "/locks/?control=S:report-disk", "/locks/?control=S:report-disk&key=", "/locks/?control=L:book",
    "/locks/?control=L:book&key={key}", "/locks/?control=R:mail&key=user:7", "/locks/?control=S:nope",
    "/changelog/", "/changelog/?q=nothing+like+this&span=1h", "/backlog/", "/flow/", "/flow/?queue=default",
    f"/flow/function/?queue=default&name={FUNCTION}",
    "/diagnosis/", "/quarantine/", "/quarantine/?reason=too+often",
    "/interventions/", "/interventions/?q=nothing", "/nowhere/",
)  # fmt: skip


def addresses(world: World) -> list[str]:
    """Every page, and the states of it that look different."""
    found = vars(world)
    return [page.format(key=KEY, **{k: v for k, v in found.items() if isinstance(v, str)}) for page in PAGES]
