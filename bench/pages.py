"""Every page on a full server: its time in one process, its Redis round trips and SQL queries, nothing remembered."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from redis import UnixDomainSocketConnection

from bench import world
from bench.lab import Lab
from bench.lines import Line, below, percentile
from bench.workers import QUEUE
from queueops.conf import conf
from queueops.rdb.keys import split_instance
from queueops.supervise.web import settle_down

LIMIT = 150.0
"""Milliseconds of the 95th percentile."""
ROUNDS, WARM = 30, 3
SOME, MORE = 2, 3
QUERIES = 16
"""SQL queries of the page that makes most of them; each makes the same number at every size."""


@dataclass(frozen=True, slots=True)
class Page:
    """``most``: Redis round trips, the shared snapshot among them."""

    name: str
    address: str
    most: int


@dataclass(frozen=True, slots=True)
class Taken:
    """Of one page: each time in ms (and the part of it in this process), round trips and queries of one request, kB."""

    times: list[float]
    busy: list[float]
    trips: int
    queries: int
    size: float


class Counted(UnixDomainSocketConnection):
    """Each write is a round trip: a command alone, or a pipeline."""

    trips = 0

    def send_packed_command(self, *args: Any, **kwargs: Any) -> Any:
        Counted.trips += 1
        return super().send_packed_command(*args, **kwargs)


def addresses(sizes: world.Sizes) -> list[Page]:
    """The pages, with the ways of asking that cost most. Depths are given by places in the middle of the lists."""
    at = {"control": "L:book", "key": split_instance(world.lock_shown())[2]}
    log = quote(f"{int(time.time() * 1000)}-0")
    return [
        Page("overview", "/", SOME),
        Page("queues", "/queues/", SOME),
        Page("queue, queued", f"/queues/?name={QUEUE}&state=queued", MORE),
        Page("queue, failed", f"/queues/?name={QUEUE}&state=failed", MORE),
        Page("jobs, queued", "/jobs/?state=queued", SOME),
        Page("jobs, queued, in the middle", f"/jobs/?{_middle('queued')}", SOME),
        Page("jobs, failed", "/jobs/?state=failed", SOME),
        Page("jobs, failed, in the middle", f"/jobs/?{_middle('failed')}", SOME),
        *(
            Page(f"jobs, {state}", f"/jobs/?state={state}", SOME)
            for state in ("parked", "running", "scheduled", "retries", "deferred", "quarantined", "recurring")
        ),
        Page("jobs, filtered, some match", "/jobs/?state=failed&function=function_7", MORE),
        Page("jobs, filtered, none matches", "/jobs/?state=queued&text=no-such-text", MORE),
        Page("jobs, searched", "/jobs/?q=function_7", MORE),
        Page("job, queued", f"/jobs/{world.job_id('queued', sizes.queued // 2)}/", MORE),
        Page("job, failed", f"/jobs/{world.job_id('failed', 1)}/", MORE),
        Page("job, parked", f"/jobs/{_parked()}/", MORE),
        Page("job, running", "/jobs/running-1/", MORE),
        Page("job, unknown", "/jobs/no-such-job/", MORE),
        Page("workers", "/workers/", SOME),
        Page("workers, silent", "/workers/?state=silent", SOME),
        Page("locks", "/locks/", SOME),
        Page("locks, searched", "/locks/?q=key-123", MORE),
        Page("lock, its keys", "/locks/?control=L:book", MORE),
        Page("lock, one key", f"/locks/?{urlencode(at)}", MORE),
        Page("changelog", "/changelog/", SOME),
        Page("changelog, filtered, some match", "/changelog/?event=lock.refused", MORE),
        Page("changelog, filtered, none matches", f"/changelog/?q=no-such-text&before={log}", MORE),
        Page("backlog", "/backlog/", SOME),
        Page("flow", "/flow/", SOME),
        Page("flow, an hour", "/flow/?minutes=60", SOME),
        Page("flow, one queue, an hour", f"/flow/?queue={QUEUE}&minutes=60", SOME),
        Page("diagnosis", "/diagnosis/", MORE),
        Page("quarantine", "/quarantine/", SOME),
        Page("quarantine, filtered", "/quarantine/?age=older&queue=mail", SOME),
        Page("interventions", "/interventions/", SOME),
        Page("interventions, filtered", "/interventions/?verb=pause&target=mail&q=incident", SOME),
    ]


def _middle(state: str) -> str:
    """A page that begins in the middle of a list, as a pager says it."""
    from dashboard.selectors.job_lists import PAGE
    from queueops.rdb.client import default_server
    from queueops.telemetry.job_pages import Cursor

    server = default_server()
    key = conf.keys.of("rq_queue" if state == "queued" else "rq_failed", QUEUE)
    if state == "queued":
        index = server.connection.llen(key) // 2
        member, score = server.connection.lindex(key, index), "0"
    else:
        index = server.connection.zcard(key) // 2
        (member, score) = server.connection.zrange(key, index, index, withscores=True)[0]
    place = Cursor(str(score), QUEUE, index + PAGE, (member,))
    return urlencode({"state": state, "after": f"{server.alias}~{place.text()}"})


def _parked() -> str:
    from queueops.rdb.client import default_server

    (job,) = default_server().connection.zrange(conf.keys.of("parked", QUEUE), 0, 0)
    return str(job.decode())


def measure(page: Page, client: Any) -> Taken:
    """Ask for it again and again, each time as the first viewer of a fresh process would."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    times, busy = [], []
    for _ in range(WARM + ROUNDS):
        _forget()
        start, cpu = time.perf_counter(), time.process_time()
        answer = client.get(page.address)
        times.append((time.perf_counter() - start) * 1000)
        busy.append((time.process_time() - cpu) * 1000)
        if answer.status_code not in (200, 404):
            raise RuntimeError(f"{page.address}: {answer.status_code}")
    _forget()
    before = Counted.trips
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(page.address)
    return Taken(times[WARM:], busy[WARM:], Counted.trips - before, len(queries), len(answer.content) / 1000)


def _forget() -> None:
    from dashboard.selectors import remembered, snapshots

    snapshots.forget()
    remembered.forget()


def serve(sizes: world.Sizes) -> list[tuple[Page, Taken]]:
    """All pages in this process, for a superuser; before each a fresh snapshot, as a monitor would have made it."""
    from django.contrib.auth.models import User
    from django.test import Client

    from queueops.rdb.client import servers
    from queueops.telemetry import snapshot as snapshots

    logging.getLogger("django.request").setLevel(logging.ERROR)  # one page is of a job that nobody knows
    (server,) = servers()
    server.connection.connection_pool.connection_class = Counted
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("bench", password=None))
    client.get("/")
    settle_down()
    memory = snapshots.new_memory()
    found, builds, busy = [], [], []
    for seq, page in enumerate(addresses(sizes), 1):
        start, cpu = time.perf_counter(), time.process_time()
        made = snapshots.snapshot(server, memory=memory, seq=seq)
        builds.append((time.perf_counter() - start) * 1000)
        busy.append((time.process_time() - cpu) * 1000)
        server.connection.set(conf.keys.static("snapshot"), json.dumps(made))
        found.append((page, measure(page, client)))
    before = Counted.trips
    snapshots.snapshot(server, memory=memory)
    taken = Taken(builds[1:], busy[1:], Counted.trips - before, 0, len(json.dumps(made)) / 1000)
    return [(Page("the shared snapshot, made", "", MORE), taken), *found]


def lines(lab: Lab) -> Iterator[Line]:
    """Fill the server once, then ask for each page in one process on the other CPU."""
    sizes = world.QUICK if lab.quick else world.FULL
    start = time.monotonic()
    world.build(lab, sizes)
    with lab.connect() as connection:
        used = connection.info("memory")["used_memory"] / 1e9
    figure = f"{time.monotonic() - start:.0f} s to fill, {used:.1f} GB of Redis"
    yield Line(
        f"{sizes.queued:,} queued, {sizes.failed:,} failed, {sizes.locks:,} locks, {sizes.workers} workers", figure
    )
    for page, taken in lab.apart(serve, sizes, cpu=lab.cross):
        p50, p95 = percentile(taken.times, 0.5), percentile(taken.times, 0.95)
        times = f"p50 {p50:.0f} p95 {p95:.0f} ms, CPU {percentile(taken.busy, 0.5):.0f}"
        figure = f"{times}, {taken.trips} trips, {taken.queries} SQL, {taken.size:.0f} kB"
        within = taken.trips <= page.most and taken.queries <= QUERIES
        yield below(page.name, figure, p95 if within else LIMIT, LIMIT, f"< 150, {page.most}")
