"""What must hold after a chaos run, whatever was killed: each finding is a sentence, none is the verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from rq import Queue
from rq.registry import FailedJobRegistry, StartedJobRegistry

from queueops.rdb.keys import Keys
from tests.chaos import record
from tests.chaos.jobs import PER, RATE, limit_of

ENDS = ("job.completed", "job.failed", "job.quarantined", "job.discarded")
QUEUES = ("high", "default", "low")
Event = dict[str, str]


def events(redis: Any, keys: Keys) -> list[Event]:
    """The changelog, oldest first; ``at`` is the store's time in ms."""
    found: list[Event] = []
    start = "-"
    while page := redis.xrange(keys.static("log"), start, "+", count=5000):
        for stream_id, fields in page:
            event = {name.decode(): value.decode() for name, value in fields.items()}
            found.append({**event, "at": stream_id.split(b"-")[0].decode()})
        start = "(" + page[-1][0].decode()
    return found


def totals(redis: Any, keys: Keys) -> Counter[str]:
    """The ledger: event → count over all queues."""
    found: Counter[str] = Counter()
    for queue in QUEUES:
        for event, number in redis.hgetall(keys.of("total", queue)).items():
            found[event.decode()] += int(number)
    return found


def once_each(lines: list[record.Line], log: list[Event]) -> list[str]:
    """Every accepted job ended once by the count, and none was lost."""
    ends: dict[str, list[str]] = defaultdict(list)
    for event in log:
        if event["e"] in ENDS:
            ends[event["job"]].append(event["e"])
    accepted = {line.job for line in lines if line.what == "accepted"}
    found = [f"{job} was accepted and never ended" for job in sorted(accepted - ends.keys())]
    found += [f"{job} ended {len(how)} times: {', '.join(how)}" for job, how in ends.items() if len(how) != 1]
    ran = {line.job for line in lines if line.what == "start"}
    found += [f"{job} ran and never ended" for job in sorted(ran - ends.keys())]
    done = {line.job for line in lines if line.what == "end"}
    for job, how in ends.items():
        if how[0] == "job.completed" and job not in done:
            found.append(f"{job} is counted as completed but never came to its end")
    return found


def limits_held(lines: list[record.Line]) -> list[str]:
    """No lock had two holders and no semaphore too many, by what the jobs wrote down themselves."""
    spans: dict[str, tuple[int, int, record.Line]] = {}
    found = []
    for line in lines:
        if line.what == "start":
            if line.run in spans:
                found.append(f"{line.job} was run twice under one token")
            spans[line.run] = (line.at, line.at, line)
        elif line.what in ("alive", "end") and line.run in spans:
            start, _, first = spans[line.run]
            spans[line.run] = (start, line.at, first)
    marks = []
    for start, end, line in spans.values():
        for hold, weight in line.holds:
            marks += [(start, 1, hold, weight, line.job), (end, 0, hold, -weight, line.job)]
    used: Counter[str] = Counter()
    for at, _, hold, weight, job in sorted(marks):
        used[hold] += weight
        if used[hold] > limit_of(hold):
            found.append(f"{hold} held {used[hold]} of {limit_of(hold)} when {job} started at {at}")
    overlaps = defaultdict(list)
    for start, end, line in spans.values():
        overlaps[line.job].append((start, end))
    for job, runs in overlaps.items():
        runs.sort()
        for (_, end), (start, _) in pairwise(runs):
            if start < end:
                found.append(f"{job} ran twice at the same time")
    return found


def rates_held(log: list[Event], functions: tuple[str, ...]) -> list[str]:
    """No window of the rate held more starts than it may, by the store's own times."""
    starts = [int(e["at"]) for e in log if e["e"] == "job.started" and e.get("f", "").endswith(functions)]
    return [
        f"{RATE + 1} starts within {last - first} ms"
        for first, last in zip(starts, starts[RATE:], strict=False)
        if last - first < PER * 1000
    ]


def ledger_balances(redis: Any, keys: Keys, log: list[Event]) -> list[str]:
    """What came in has gone out, and each start has one end."""
    total = totals(redis, keys)
    adopted = len({event["job"] for event in log if event["e"] == "job.adopted"})
    came = total["accepted"] + adopted
    out = ("completed", "failed", "quarantined", "discarded", "expired", "cancelled", "superseded")
    went = sum(total[event] for event in out)
    found = [] if came == went else [f"{came} came in, {went} went out: {dict(total)}"]
    ended = sum(total[event] for event in ("completed", "failed_attempt", "crashed", "put_back"))
    if total["started"] != ended:
        found.append(f"{total['started']} started, {ended} ended: {dict(total)}")
    if total["gone"]:
        found.append(f"{total['gone']} gone without a record")
    logged = Counter(event["e"].removeprefix("job.") for event in log)
    for event in ("completed", "failed", "quarantined", "started", "crashed", "retried", "parked", "woken"):
        if logged[event] != total[event]:
            found.append(f"{event}: {total[event]} counted, {logged[event]} in the changelog")
    return found


def nothing_left(redis: Any, keys: Keys) -> list[str]:
    """No lease, holder, offer, line or index entry outlives its job."""
    found = []
    for name in ("leases", "lease_ends", "running", "again", "expiring"):
        if redis.exists(keys.static(name)):
            found.append(f"{name} is not empty")
    for family in ("line", "offers", "offer_weights", "holders", "holder_weights", "parked", "waiting"):
        for key in redis.scan_iter(keys.of(family, "") + "*", count=1000):
            if family == "holders" and b"h:R:" in key:
                continue
            found.append(f"{key!r} is not empty")
    for family in ("rq_wip", "rq_queue", "rq_scheduled", "rq_deferred", "rq_execution", "rq_executions"):
        for key in redis.scan_iter(keys.of(family, "") + "*", count=1000):
            found.append(f"{key!r} is not empty")
    return found


def rq_finds_nothing(redis: Any) -> list[str]:
    """RQ's own clean-up has nothing to do for our jobs."""
    found = []
    for name in QUEUES:
        queue = Queue(name, connection=redis)
        failed = FailedJobRegistry(queue=queue).get_job_ids(cleanup=False)
        StartedJobRegistry(queue=queue).cleanup()
        after = FailedJobRegistry(queue=queue).get_job_ids(cleanup=False)
        if set(after) - set(failed):
            found.append(f"RQ's clean-up failed {set(after) - set(failed)}")
        if redis.llen(f"rq:queue:{name}") or redis.llen(f"rq:queue:{name}:intermediate"):
            found.append(f"RQ's clean-up left something on {name}")
    return found


def verdict(redis: Any, keys: Keys, path: Path) -> list[str]:
    """All findings."""
    lines, log = list(record.read(path)), events(redis, keys)
    return [
        *once_each(lines, log),
        *limits_held(lines),
        *rates_held(log, ("jobs.limited", "jobs.everything")),
        *ledger_balances(redis, keys, log),
        *nothing_left(redis, keys),
        *rq_finds_nothing(redis),
    ]
