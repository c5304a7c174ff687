"""C33: a page costs a fixed number of round trips and queries, whatever it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.selectors import snapshots
from queueops.conf import conf
from queueops.models import Intervention, QuarantinedJob
from queueops.rdb.keys import SEP
from tests.dashboard.conftest import Counting, queue_row

SNAPSHOT = 1
"""The shared snapshot: one trip, remembered for half a second for all requests of the process."""
BUDGET = {
    "/": SNAPSHOT,
    "/queues/": SNAPSHOT,
    "/flow/": SNAPSHOT + 1,
    "/flow/?queue=default&minutes=60": SNAPSHOT + 1,
    "/flow/?queue=default&period=24h&percentile=99": SNAPSHOT + 1,
    "/flow/function/?queue=default&name=app.f1&period=6h": SNAPSHOT + 1,
    "/backlog/": SNAPSHOT + 1,
    "/backlog/?period=90d": SNAPSHOT + 1,
    "/diagnosis/": SNAPSHOT + 2,
    "/quarantine/": SNAPSHOT,
    "/quarantine/?age=older&reason=r": SNAPSHOT,
    "/interventions/": SNAPSHOT,
    "/interventions/?verb=pause&target=q&span=1d": SNAPSHOT,
    "/queues/?name=default&state=queued": SNAPSHOT + 2,
    "/queues/?name=default&state=failed": SNAPSHOT + 2,
    "/locks/": SNAPSHOT + 1,
    "/locks/?q=k12": SNAPSHOT + 2,
    "/locks/?control=S:many": SNAPSHOT + 2,
    "/locks/?control=S:many&key=k1": SNAPSHOT + 1,
    "/changelog/": SNAPSHOT + 1,
    "/changelog/?q=nothing-like-it": SNAPSHOT + 2,
    "/workers/": SNAPSHOT + 1,
    "/jobs/j1/": SNAPSHOT + 2,
    "/jobs/nobody/": SNAPSHOT + 2,
    "/jobs/?q=zzz": SNAPSHOT + 2,
    "/jobs/?state=failed&error=zzz": SNAPSHOT + 1,
}
QUERIES = 12


def fill(redis: Any, count: int) -> None:
    keys = conf.keys
    pipe = redis.pipeline(transaction=False)
    for i in range(count):
        pipe.hset(
            keys.of("rq_job", f"j{i}"), mapping={"status": "queued", "origin": "default", "description": f"f({i})"}
        )
        pipe.rpush(keys.of("rq_queue", "default"), f"j{i}")
        pipe.zadd(keys.of("rq_failed", "default"), {f"j{i}": i + 1})
        pipe.zadd(keys.static("instances"), {f"S:many{SEP}k{i}": i + 1})
        pipe.zadd(keys.of("holders", f"S:many{SEP}k{i}"), {f"t{i}": 10**16})
        pipe.zadd(keys.of("line", f"S:many{SEP}k1"), {f"j{i}": i + 1})
        pipe.xadd(keys.static("log"), {"e": "job.started", "job": f"j{i}", "q": "default"})
        pipe.zadd(keys.static("functions"), {f"default{SEP}app.f{i}": i + 1})
        pipe.sadd(keys.static("rq_workers"), keys.of("rq_worker", f"w{i}"))
        pipe.hset(keys.of("rq_worker", f"w{i}"), mapping={"state": "idle", "queues": "default"})
    pipe.execute()
    QuarantinedJob.objects.bulk_create(
        QuarantinedJob(
            server="high", job_id=f"j{i}", queue="default", reason="r", quarantined_at="2026-03-12T14:32:00Z"
        )
        for i in range(count)
    )
    Intervention.objects.bulk_create(
        Intervention(at=timezone.now(), actor="ann", verb="pause", target=f"queue:q{i}", reason="r", before={"n": i})
        for i in range(count)
    )


@pytest.mark.parametrize("count", [10, 10_000])
def test_trips_and_queries_do_not_grow(
    boss: Client, counting: Counting, redis: Any, publish: Callable[..., Any], count: int
) -> None:
    fill(redis, count)
    boss.get("/")  # what Django loads once per process
    for address in ("/jobs/", "/workers/", "/locks/", "/locks/?control=S:many&key=k1", "/flow/", "/jobs/j1/"):
        boss.get(address)  # and Redis once: its script
    for address, most in BUDGET.items():
        publish(*(queue_row(f"q{i}") for i in range(min(count, 100))))
        counting.trips = 0
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert boss.get(address).status_code == (404 if "nobody" in address or "function/" in address else 200)
        assert counting.trips <= most, (address, counting.trips)
        assert len(queries) <= QUERIES, (address, len(queries))


def test_many_viewers_cost_one(boss: Client, counting: Counting, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"))
    snapshots.current()
    counting.trips = 0
    for _ in range(20):
        snapshots.current()
    assert counting.trips <= 1


def test_a_filter_says_how_much_it_looked_at(boss: Client, redis: Any) -> None:
    pipe = redis.pipeline(transaction=False)
    for i in range(3000):
        pipe.xadd(conf.keys.static("log"), {"e": "job.started", "job": f"j{i}"})
    pipe.execute()
    html = boss.get("/changelog/?job=j0").content.decode()
    assert "3,000 looked at" in html and "j0" in html


def test_pages_of_the_changelog_join_without_gap_or_repeat(boss: Client, redis: Any) -> None:
    pipe = redis.pipeline(transaction=False)
    for i in range(450):
        pipe.xadd(conf.keys.static("log"), {"e": f"job.e{i % 3}", "job": f"j{i}"})
    ids = [raw.decode() for raw in pipe.execute()]
    for query, expected in (("", ids), ("&event=job.e1", [x for i, x in enumerate(ids) if i % 3 == 1])):
        seen, before = [], None
        while True:
            answer = boss.get(f"/changelog/?{f'before={before}' if before else ''}{query}")
            found = answer.context["found"]
            seen += [entry.id for entry in found.entries]
            before = found.before
            if not before:
                break
        assert seen == expected[::-1]


def test_pages_of_the_quarantine_join_without_gap_or_repeat(boss: Client) -> None:
    QuarantinedJob.objects.bulk_create(
        QuarantinedJob(server="high", job_id=f"j{i}", queue="q", quarantined_at=f"2026-03-12T14:{i % 7:02d}:00Z")
        for i in range(130)
    )
    seen: list[str] = []
    after = ""
    while True:
        found = boss.get("/quarantine/", {"after": after} if after else {}).context["found"]
        seen += [row.job for row in found.rows]
        if not found.after:
            break
        after = found.after
    assert len(seen) == len(set(seen)) == 130
