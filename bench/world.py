"""A server full of work, for pages: a few real jobs, copied many times over, with locks, workers and what happened."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from bench import jobs
from bench.lab import Lab
from bench.parked import LOCKED, park, wait_parked
from bench.workers import QUEUE, THREE, serve
from queueops.conf import conf
from queueops.rdb.keys import SEP, control_id, instance, lua_literals

STEP = 2000
"""Jobs or locks that one script makes."""
FUNCTIONS = 40
SHARE = 0.7
"""Part of the jobs that is in the first queue; the rest is spread over the others."""
HOUR = 3600
KINDS = (("lock", "book", 1, 0.8), ("semaphore", "s3-upload", 4, 0.1), ("rate", "mail", 50, 0.1))
"""Of the live keys: kind, name, limit, part of all."""
EVENTS = ("job.started", "job.completed", "lock.acquired", "lock.released", "job.parked", "job.woken", "lock.refused")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything. ``failed`` and ``quarantined`` do not overlap."""

    queued: int
    failed: int
    quarantined: int
    parked: int
    scheduled: int
    locks: int
    workers: int
    interventions: int
    minutes: int


FULL = Sizes(1_000_000, 200_000, 20_000, 5_000, 5_000, 50_000, 600, 20_000, 240)
QUICK = Sizes(20_000, 4_000, 500, 200, 200, 1_000, 60, 500, 20)

_COPY = """
-- ARGV: state, id of the real job, queue, first, last, functions, now (us)
local state, queue, now = ARGV[1], ARGV[3], tonumber(ARGV[7])
local function int(x) return string.format('%.0f', x) end
local info = state == 'quarantined' and cjson.decode(redis.call('HGET', K.quarantine_info, ARGV[2]))
for n = tonumber(ARGV[4]), tonumber(ARGV[5]) do
  local id = string.format('%08x-%04x-4000-8000-%012x', (n * 40503) % 4294967296, n % 65536, n)
  local key, func, since = K.rq_job .. id, 'shop.tasks.function_' .. n % tonumber(ARGV[6]), now - (n % 3600) * 1000000
  redis.call('COPY', K.rq_job .. ARGV[2], key)
  redis.call('HSET', key, 'origin', queue, F.func, func, F.since, int(since),
    'description', func .. '(' .. n .. ', user=' .. n % 997 .. ', note="the quick brown fox")')
  if state == 'queued' then
    redis.call('RPUSH', K.rq_queue .. queue, id)
    redis.call('ZADD', K.waiting .. queue, int(since), id)
  elseif state == 'scheduled' then
    redis.call('HSET', key, 'status', 'scheduled')
    redis.call('ZADD', K.rq_scheduled .. queue, int(now / 1000000 + 3600 + n % 36000), id)
  else
    redis.call('COPY', K.rq_results .. ARGV[2], K.rq_results .. id)
    redis.call('ZADD', K.rq_failed .. queue, info and '+inf' or int(now / 1000000 + 31536000 - n % 86400), id)
  end
  if info then
    info.queue, info['function'] = queue, func
    redis.call('ZADD', K.quarantined .. queue, int(since), id)
    redis.call('HSET', K.quarantine_info, id, cjson.encode(info))
  end
end
"""

_HOLD = """
-- ARGV: control, first, last, score of a holder, now (us)
for n = tonumber(ARGV[2]), tonumber(ARGV[3]) do
  local instance = ARGV[1] .. SEP .. 'key-' .. n
  redis.call('ZADD', K.holders .. instance, ARGV[4], string.format('%032x', n))
  redis.call('ZADD', K.instances, string.format('%.0f', tonumber(ARGV[5]) - n), instance)
end
"""


def build(lab: Lab, sizes: Sizes) -> None:
    """Fill the server, and the database with what goes with it."""
    with lab.clean() as connection:
        park(connection, sizes.parked)
        with lab.background(serve, lab.url, LOCKED, False):
            wait_parked(connection, sizes.parked)
        models = _real_jobs(connection, lab)
        queues = _queues()
        for state, count in (
            ("queued", sizes.queued),
            ("failed", sizes.failed),
            ("quarantined", sizes.quarantined),
            ("scheduled", sizes.scheduled),
        ):
            _copy(connection, state, models[state], count, queues)
        _hold(connection, sizes.locks)
        _employ(connection, sizes.workers, models["queued"])
        _happen(connection, sizes.minutes, queues)
    lab.apart(_write_rows, sizes.quarantined, sizes.interventions)


def _queues() -> list[str]:
    from django.conf import settings

    return [QUEUE, *(name for name in settings.RQ_QUEUES if name != QUEUE)]


def _real_jobs(connection: redis.Redis, lab: Lab) -> dict[str, str]:
    """One real job of each state; a scheduled one is like a queued one."""
    queue = THREE.queue(connection, "low")
    broken, poison = queue.enqueue(jobs.broken, 0), queue.enqueue(jobs.poison, 0)
    lab.apart(_run, lab.url)
    waiting = queue.enqueue(jobs.under_three, 0)
    return {"queued": waiting.id, "scheduled": waiting.id, "failed": broken.id, "quarantined": poison.id}


def _run(url: str) -> None:
    connection = redis.Redis.from_url(url)
    worker = THREE.worker_class(forking=False)([THREE.queue(connection, "low")], connection=connection)
    worker.work(burst=True, logging_level="CRITICAL")


def _steps(first: int, count: int) -> Iterator[tuple[int, int]]:
    for low in range(first, first + count, STEP):
        yield low, min(low + STEP, first + count) - 1


_starts = {"queued": 0, "failed": 10_000_000, "quarantined": 20_000_000, "scheduled": 30_000_000}
"""Numbers of the copies: no two have the same."""


def _copy(connection: redis.Redis, state: str, model: str, count: int, queues: list[str]) -> None:
    script = connection.register_script(lua_literals(conf.keys, _COPY))
    now, at = int(time.time() * 1e6), _starts[state]
    for n, queue in enumerate(queues):
        here = int(count * SHARE) if n == 0 else int(count * (1 - SHARE) / (len(queues) - 1))
        for low, high in _steps(at, here):
            script(args=[state, model, queue, low, high, FUNCTIONS, now])
        at += here


def _hold(connection: redis.Redis, count: int) -> None:
    script = connection.register_script(lua_literals(conf.keys, _HOLD))
    now, at = int(time.time() * 1e6), 0
    for kind, name, limit, part in KINDS:
        per = HOUR * 1_000_000 if kind == "rate" else 0
        defined = {"kind": kind, "name": name, "limit": limit, "per": per, "lease": 30_000_000, "release": "bench"}
        connection.hset(conf.keys.static("controls"), control_id(kind, name), json.dumps(defined))
        for low, high in _steps(at, int(count * part)):
            score = now if kind == "rate" else now + HOUR * 1_000_000
            script(args=[control_id(kind, name), low, high, score, now])
        at += int(count * part)
    pipe = connection.pipeline(transaction=False)
    for n in range(conf.LOCK_HISTORY):
        about = {"e": EVENTS[2 + n % 2], "c": lock_shown(), "job": f"job-{n}", "q": QUEUE, "w": f"worker-{n}"}
        pipe.xadd(conf.keys.of("history", lock_shown()), about)
    pipe.execute()


def job_id(state: str, n: int) -> str:
    """The id of the ``n``-th copy in a state, as the script writes it."""
    n += _starts[state]
    return f"{n * 40503 % 4294967296:08x}-{n % 65536:04x}-4000-8000-{n:012x}"


def lock_shown() -> str:
    """The lock whose own page is measured."""
    return instance("lock", "book", "key-7")


def _employ(connection: redis.Redis, count: int, model: str) -> None:
    """Five of six are busy, one in thirty is silent; the others give signs until the bench has ended."""
    keys, pipe = conf.keys, connection.pipeline(transaction=False)
    now, later = time.time(), time.time() + HOUR
    for n in range(count):
        name, silent, busy = f"worker-{n:04}", n % 30 == 0, n % 6 > 0
        beat = datetime.fromtimestamp(now - HOUR if silent else later, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        born = datetime.fromtimestamp(now - HOUR, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        about = {"birth": born, "last_heartbeat": beat, "queues": QUEUE, "pid": n, "hostname": f"host-{n % 20}"}
        pipe.sadd(keys.static("rq_workers"), keys.of("rq_worker", name))
        state = "busy" if busy else "idle"
        pipe.hset(keys.of("rq_worker", name), mapping={**about, "version": "3.0.0", "state": state})
        pipe.zadd(keys.static("workers"), {name: int((now - HOUR if silent else later) * 1e6)})
        if busy:
            job, token, end = f"running-{n}", f"{n:032x}", int(later * 1e6)
            lease = {"job": job, "queue": QUEUE, "function": "shop.tasks.function_1", "worker": name, "simple": 0,
                     "started": int((now - n) * 1e6), "span": 30_000_000, "adopting": 0, "holds": []}  # fmt: skip
            pipe.copy(keys.of("rq_job", model), keys.of("rq_job", job))
            run = {"status": "started", "origin": QUEUE, "started_at": born, "worker_name": name}
            pipe.hset(keys.of("rq_job", job), mapping=run)
            pipe.zadd(keys.of("rq_wip", QUEUE), {f"{job}:{token}": later})
            pipe.sadd(keys.of("rq_worker", f"{name}:executions"), f"{job}:{token}")
            pipe.hset(keys.static("leases"), token, json.dumps(lease))
            pipe.hset(keys.static("running"), job, token)
            pipe.zadd(keys.static("lease_ends"), {token: end})
    pipe.execute()


def _happen(connection: redis.Redis, minutes: int, queues: list[str]) -> None:
    """A full changelog, and counters of the last minutes."""
    keys, now = conf.keys, int(time.time())
    pipe = connection.pipeline(transaction=False)
    for n in range(conf.CHANGELOG_LENGTH):
        about = {"e": EVENTS[n % len(EVENTS)], "job": f"{n:08x}-4000-8000-000000000000", "q": queues[n % len(queues)]}
        more = {"f": f"shop.tasks.function_{n % FUNCTIONS}", "w": f"worker-{n % 600:04}", "t": f"{n:08x}"}
        held = {"c": instance("lock", "book", f"key-{n % 5000}")} if n % 7 in (2, 3, 4, 6) else {}
        pipe.xadd(keys.static("log"), {**about, **more, **held})
    pipe.set(keys.static("counting_since"), (now - minutes * 60 - 60) * 1_000_000)
    counts: dict[str, Any] = {"accepted": 60, "started": 60, "completed": 58, "failed_attempt": 2, "parked": 3}
    for minute in range(now // 60 - minutes, now // 60 + 1):
        for n, queue in enumerate(queues):
            for func in ("", *(f"shop.tasks.function_{i}" for i in range(n, FUNCTIONS, len(queues)))):
                times = {f"{kind}{bin_}": 10 for kind in "wr" for bin_ in range(12, 24)}
                fields = {**counts, **times, "wt": 9_000_000, "rt": 9_000_000}
                pipe.hset(keys.of("minute", SEP.join((str(minute * 60), queue, func))), mapping=fields)
                pipe.zadd(keys.static("functions"), {f"{queue}{SEP}{func}": now * 1_000_000})
    for ten in range(now // 10 - 366, now // 10):
        fields = {f"{queue}{SEP}{event}": count for queue in queues for event, count in counts.items()}
        pipe.hset(keys.of("ten", str(ten * 10)), mapping=fields)
    pipe.execute()


def _write_rows(quarantined: int, interventions: int) -> None:
    """The SQL copies of the quarantined jobs, and what people did."""
    from queueops.models import Intervention, QuarantinedJob

    for model in (QuarantinedJob, Intervention):
        model.objects.all().delete()
    now, queues = datetime.now(UTC), _queues()
    reasons = ("failed 3 times", "crashed twice", "waited too long", "isolated")
    trace = "".join(f'  File "shop/tasks.py", line {n}, in step_{n}\n' for n in range(30))
    QuarantinedJob.objects.bulk_create(
        (
            QuarantinedJob(
                server="high",
                job_id=f"{n:08x}-quarantined",
                queue=queues[n % len(queues)],
                function=f"shop.tasks.function_{n % FUNCTIONS}",
                reason=reasons[n % 4],
                error=f"Traceback (most recent call last):\n{trace}ValueError: wrong number {n % 50}",
                fingerprint=f"{n % 50:016x}",
                description=f'function_{n % FUNCTIONS}({n}, note="the quick brown fox")',
                payload="x" * 1500,
                quarantined_at=now - timedelta(minutes=n),
            )
            for n in range(quarantined)
        ),
        batch_size=500,
    )
    Intervention.objects.bulk_create(
        (
            Intervention(
                at=now - timedelta(minutes=n),
                actor=f"person-{n % 9}",
                verb=("pause", "limit", "replay", "release")[n % 4],
                target=f"queue:{queues[n % len(queues)]}",
                reason=f"incident {n % 100}",
                before={"limit": n % 7, "paused": False},
                after={"limit": n % 5, "paused": True},
                state=Intervention.State.DONE,
            )
            for n in range(interventions)
        ),
        batch_size=500,
    )
