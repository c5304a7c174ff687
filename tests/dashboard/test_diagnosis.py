"""Late queues with hypotheses in words: each pattern by its name, with its numbers and a place to look; no verdict."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis as redis_py
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from dashboard import diagnoses
from dashboard.selectors import snapshots, store
from queueops.conf import conf
from queueops.diagnosis import patterns
from queueops.models import Rollup
from queueops.rdb import client as clients
from queueops.rdb.client import Server, default_server
from queueops.rdb.keys import JOB_FIELDS, SEP
from tests.dashboard.conftest import HOSTILE, Counting, queue_row
from tests.support import free_port

K = conf.keys
FUNCTION = "shop.send"


def late(name: str = "q", inflow: float = 10, completed: float = 10, **more: Any) -> dict[str, Any]:
    """A queue of a snapshot, three times its target behind; ``parked`` of its 100 waiting are parked."""
    parked = more.pop("parked", 0)
    made = queue_row(name, **{"oldest_age": 180.0, "max_age": 60.0, **more})
    spark = {"in": [inflow] * 60, "out": [completed] * 60, "end": 0}
    return {**made, "open": {"queued": 100 - parked, "parked": parked}, "spark": spark}


def usually(redis: Any, queue: str = "q", mean: float = 1.0, width: int = 3600, pace: int = 10) -> None:
    """The last buckets of the queue and its function, ``pace`` jobs a minute."""
    now, n = int(redis.time()[0]) // width * width, pace * width // 60
    counts = {"accepted": n, "completed": n}
    done = {FUNCTION: {"n": counts, "w": {}, "r": {"40": n}, "wt": 0, "rt": int(n * mean * 1e6)}}
    for start in range(now - 23 * width, now, width):
        base = {"width": width, "start": start, "server": default_server().alias}
        Rollup.objects.create(**base, queue="")
        Rollup.objects.create(**base, queue=queue, counts=counts, functions=done)


def does(redis: Any, queue: str = "q", name: str = FUNCTION, mean: float = 1.0, **counts: int) -> None:
    """What a function did in each of the last ten whole minutes."""
    seconds, runs = int(redis.time()[0]), sum(counts.get(e, 0) for e in ("completed", "failed_attempt"))
    fields = {**counts, "r40": runs, "rt": int(runs * mean * 1e6)}
    redis.zadd(K.static("functions"), {f"{queue}{SEP}{name}": seconds * 1_000_000})
    for n in range(1, 11):
        redis.hset(K.of("minute", f"{seconds // 60 * 60 - 60 * n}{SEP}{queue}{SEP}{name}"), mapping=fields)


def worker(redis: Any, state: str, queues: str = "q", quiet: int = 0) -> None:
    """A worker that gave its last sign ``quiet`` seconds ago."""
    seconds = int(redis.time()[0]) - quiet
    redis.zadd(K.static("workers"), {f"w-{state}": seconds * 1_000_000})
    redis.sadd(K.static("rq_workers"), K.of("rq_worker", f"w-{state}"))
    born = {"state": state, "queues": queues, "birth": "2026-03-12T08:00:00.000000Z"}
    redis.hset(K.of("rq_worker", f"w-{state}"), mapping=born)


def parked(redis: Any, control: str, count: int = 60) -> None:
    for n in range(count):
        redis.zadd(K.of("parked", "q"), {f"j{n}": n})
        redis.hset(K.of("rq_job", f"j{n}"), JOB_FIELDS["parked"], f"{control}{SEP}key{n}")


def text(boss: Client) -> str:
    return boss.get("/diagnosis/").content.decode().replace("\xa0", " ")


PAUSE = {"kind": "pause", "target": "q:q", "until": 0, "by": "ann", "reason": "r"}
Scene = Callable[[Any, Any], None]


def inflow(redis: Any, publish: Any) -> None:
    does(redis, accepted=30, completed=10)
    worker(redis, "busy")
    publish(late(inflow=30))


def paused(redis: Any, publish: Any) -> None:
    publish(late(completed=0, paused=PAUSE), banner=[PAUSE])


def blocked(redis: Any, publish: Any) -> None:
    parked(redis, "S:disk")
    publish(late(completed=0, parked=95))


def function_paused(redis: Any, publish: Any) -> None:
    parked(redis, f"P:{FUNCTION}")
    publish(late(completed=0, parked=95))


def silent(redis: Any, publish: Any) -> None:
    worker(redis, "busy", quiet=900)
    publish(late(completed=0))


def nobody(redis: Any, publish: Any) -> None:
    worker(redis, "idle", queues="other")
    publish(late(completed=0))


def stuck(redis: Any, publish: Any) -> None:
    worker(redis, "busy")
    publish(late(completed=0))


def idle(redis: Any, publish: Any) -> None:
    worker(redis, "idle")
    publish(late(completed=0))


def slow(redis: Any, publish: Any) -> None:
    does(redis, accepted=10, completed=3, mean=4.0)
    worker(redis, "busy")
    publish(late(completed=3))


def failing(redis: Any, publish: Any) -> None:
    does(redis, accepted=10, completed=3, failed_attempt=7)
    worker(redis, "busy")
    publish(late(completed=3))


def starved(redis: Any, publish: Any) -> None:
    does(redis, completed=1)
    does(redis, "bulk", "shop.export", mean=20.0, completed=5)
    worker(redis, "busy", queues="bulk,q")
    publish(late(completed=1), queue_row("bulk"))


@pytest.mark.parametrize(
    ("scene", "title", "says", "href"),
    [
        (inflow, "more comes in than is completed", "30/min against 10/min", "/flow/?queue=q"),
        (paused, "nothing runs because the queue is paused", "The queue is paused.", "/queues/?name=q"),
        (blocked, "its jobs wait for disk", "About 95 of the 100 waiting", "/locks/?control=S%3Adisk"),
        (
            function_paused,
            f"its jobs wait because the function {FUNCTION} is paused",
            "About 95 of the 100",
            "/queues/?name=q",
        ),
        (silent, "its workers went silent", "1 is silent", "/workers/?queue=q&amp;state=silent"),
        (nobody, "no worker serves this queue", "No worker that serves it", "/workers/"),
        (stuck, "its workers are stuck in their runs", "1 of its workers is busy.", "/workers/?queue=q&amp;state=busy"),
        (idle, "its workers wait and take nothing", "1 of its workers is idle", "/jobs/?queue=q&amp;state=queued"),
        (slow, f"{FUNCTION} takes longer than usual", "4.0 s on average; usual 1.0 s", "/flow/function/?queue=q"),
        (failing, f"attempts of {FUNCTION} fail again", "7 of 10 attempts/min fail", "/jobs/?state=failed&amp;queue=q"),
        (starved, "its workers are busy with other queues", "shop.export of the queue bulk", "/workers/?queue=q"),
    ],
)
def test_a_pattern_is_named(
    boss: Client, redis: Any, publish: Any, scene: Scene, title: str, says: str, href: str
) -> None:
    usually(redis)
    scene(redis, publish)
    html = text(boss)
    assert "hypotheses, not proof" in html and "median hour" in html
    assert html.count(f"Perhaps: {title}") == 1 and html.index(title) == html.index("Perhaps: ") + len("Perhaps: ")
    assert says in html and f'href="{href}' in html


def test_every_fact_has_words() -> None:
    rules = inspect.getsource(patterns)
    assert set(re.findall(r'Evidence\("(\w+)"', rules)) == set(diagnoses.SENTENCES)


def test_no_queue_is_late(boss: Client, publish: Any) -> None:
    publish(queue_row("default"))
    html = text(boss)
    assert "No queue is late: nothing to explain" in html and "Perhaps" not in html


def test_the_page_of_a_late_queue_leads_here(boss: Client, redis: Any, publish: Any) -> None:
    inflow(redis, publish)
    place = re.search(r'<section class="panel" id="([^"]+)"', text(boss))
    assert place and f'href="/diagnosis/#{place[1]}"' in boss.get("/queues/", {"name": "q"}).content.decode()


def test_what_is_usual_may_be_unknown(boss: Client, redis: Any, publish: Any) -> None:
    inflow(redis, publish)
    html = text(boss)
    assert "usual pace of this queue is not known yet" in html
    assert "Perhaps: more comes in" in html and "above its usual" not in html


def test_a_young_installation_compares_with_minutes(boss: Client, redis: Any, publish: Any) -> None:
    usually(redis, width=60)
    inflow(redis, publish)
    html = text(boss)
    assert "median minute of the last 3 hours" in html and "Inflow is above its usual: 30/min against 10/min" in html


def test_no_known_pattern(boss: Client, redis: Any, publish: Any) -> None:
    usually(redis)
    worker(redis, "busy")
    does(redis, accepted=10, completed=10)
    publish(late())
    html = text(boss)
    assert "None of the five known patterns fits" in html and "Perhaps" not in html


def test_workers_of_other_queues_starve_nobody(boss: Client, redis: Any, publish: Any) -> None:
    usually(redis)
    does(redis, completed=1)
    does(redis, "bulk", "shop.export", mean=20.0, completed=5)
    worker(redis, "busy")
    publish(late(completed=1))
    assert "busy with other queues" not in text(boss)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(boss: Client, redis: Any, publish: Any, name: str) -> None:
    does(redis, name, name or "f", accepted=10, completed=3, failed_attempt=7)
    publish(late(name, completed=3))
    html = text(boss)
    assert "fail again and again" in html
    assert "<img src=x" not in html and "\u202e" not in html and " onmouseover='x" not in html


def test_a_server_that_falls_silent_hides_no_other(
    boss: Client, redis: Any, publish: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot of both is known, and one is gone when it is asked for more."""
    real = default_server()
    publish(late("q", completed=0), late("mail", completed=0))
    state = snapshots.current()
    rows = [replace(row, server="dead") if row.name == "mail" else row for row in state.queues]
    state = replace(state, queues=tuple(rows))
    monkeypatch.setattr("dashboard.views.diagnosis.snapshots.current", lambda: state)
    gone = Server("dead", redis_py.Redis(port=free_port(), socket_timeout=1), ("mail",))
    clients._servers[:] = [gone, Server(real.alias, real.connection, ("q",))]
    try:
        store.forget()
        html = text(boss)
    finally:
        clients.forget()
    assert html.count("Its Redis server does not answer") == 1 and html.count("Perhaps: ") == 1


@pytest.mark.parametrize("count", [1, 40])
def test_trips_and_queries_do_not_grow(boss: Client, counting: Counting, redis: Any, publish: Any, count: int) -> None:
    usually(redis)
    parked(redis, "S:disk")
    does(redis, accepted=10, completed=3)
    worker(redis, "busy")
    boss.get("/flow/")
    boss.get("/workers/")  # what Django loads once per process, and Redis once: the scripts
    publish(late("q", parked=95), *(late(f"q{n}", parked=95) for n in range(count - 1)))
    counting.trips = 0
    with CaptureQueriesContext(connection) as queries:
        html = text(boss)
    assert counting.trips <= 1 + 2 and len(queries) <= 12
    assert ("30 more queues are late." in html) == (count == 40)


def test_in_japanese(boss: Client, redis: Any, publish: Any) -> None:
    usually(redis)
    inflow(redis, publish)
    with translation.override("ja"):
        html = boss.get("/diagnosis/", headers={"Accept-Language": "ja"}).content.decode()
    assert "Perhaps" not in html and "診断" in html
