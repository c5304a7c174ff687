"""FIELD_CASES.md C14, C29: the store's clock decides, whatever a host's says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import redis as redis_py

from queueops.rdb.doors import Empty
from queueops.rq import Queue
from tests.concurrency import jobs
from tests.scripts.kit import Doors, K, claim
from tests.support import ROOT


def starts(doors: Doors, number: int = 20) -> int:
    started = 0
    for _ in range(number):
        found = doors.start()
        if found:
            doors.settle(found[1])
            started += 1
    return started


@pytest.mark.parametrize("strategy", ["sliding", "window", "bucket"])
def test_c14_a_clock_that_steps_back_makes_nobody_wait_longer_than_a_window(
    doors: Doors, clock: Any, strategy: str
) -> None:
    rate = claim("rate", "r", n=3, per=10, s=strategy, b=3)
    for _ in range(12):
        doors.enqueue(rate)
    assert starts(doors) == 3
    clock.advance(-3600)
    waited = 0.0
    while not starts(doors, 3) and waited < 3700:
        clock.advance(1)
        waited += 1
    assert waited <= 10, f"after the step back they waited {waited} s"


def test_c14_never_more_than_the_limit_in_any_window_around_its_edge(doors: Doors, clock: Any) -> None:
    rate = claim("rate", "r", n=5, per=60)
    for _ in range(40):
        doors.enqueue(rate)
    at: list[int] = []
    for step in (0, 59.9, 0.05, 0.05, 0.1, 30, 29.8, 0.3, 60):
        clock.advance(step)
        at += [clock.now] * starts(doors, 12)
    assert len(at) == 20
    for first in at:
        assert sum(first <= other < first + 60_000_000 for other in at) <= 5


def test_c29_due_jobs_are_moved_once_however_many_workers_move_them(redis: Any, redis_server: Any) -> None:
    doors, total = Doors(redis), 400
    for number in range(total):
        doors.enqueue(mode="schedule", due="1", job_id=f"due-{number}")
    started: Counter[str] = Counter()

    def work(name: str) -> None:
        with redis_py.Redis.from_url(redis_server.url) as connection:
            mine = Doors(connection)
            while not isinstance(found := mine.claim(worker=name, idle=False), Empty):
                started[found.job_id] += 1
                mine.settle(mine.token)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert started == Counter({f"due-{number}": 1 for number in range(total)})
    assert doors.totals()["completed"] == total
    assert redis.zcard(K.of("rq_scheduled", "default")) == 0


def test_c29_a_delay_is_counted_from_the_stores_now(doors: Doors, clock: Any) -> None:
    """The store's clock is years ahead of this host's: what a delay means does not depend on either."""
    job = Queue("default", connection=doors.redis).enqueue_in(timedelta(seconds=5), jobs.free)
    due = doors.redis.zscore(K.of("rq_scheduled", "default"), job.id)
    assert abs(due - clock.now / 1e6 - 5) < 1.1
    clock.advance(4)
    assert doors.start() is None
    clock.advance(2)
    assert doors.start()


def test_c29_times_mean_what_they_say_in_any_zone(redis: Any, child_env: dict[str, str]) -> None:
    """On a host in Tokyo: a naive time is local and warned of; an aware one is exact, also in a repeated hour."""
    code = """
import json, warnings
import django; django.setup()
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
from django_rq import get_queue
from tests.concurrency import jobs
queue, york = get_queue("default"), ZoneInfo("America/New_York")
times = {
    "naive": datetime(2030, 1, 1, 12, 0),
    "utc": datetime(2030, 1, 1, 12, 0, tzinfo=timezone.utc),
    "first": datetime(2030, 11, 3, 1, 30, tzinfo=york),
    "repeated": datetime(2030, 11, 3, 1, 30, tzinfo=york, fold=1),
    "skipped": datetime(2030, 3, 10, 2, 30, tzinfo=york),
}
warned = {}
for name, at in times.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        queue.enqueue_at(at, jobs.free, job_id=name)
    warned[name] = any("no zone" in str(w.message) for w in caught)
print(json.dumps([{n: queue.connection.zscore("rq:scheduled:default", n) for n in times}, warned]))
"""
    env = {**child_env, "TZ": "Asia/Tokyo", "PYTHONPATH": os.fspath(ROOT)}
    out = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, check=True, capture_output=True, text=True)
    due, warned = json.loads(out.stdout.splitlines()[-1])
    noon = 1893499200  # 2030-01-01 12:00 UTC
    assert due["utc"] == noon
    assert due["naive"] == noon - 9 * 3600
    assert due["repeated"] - due["first"] == 3600
    assert due["skipped"] == 1899358200  # 03:30 EDT: just after the hour that does not exist
    assert warned == {name: name == "naive" for name in due}
