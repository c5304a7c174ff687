"""Each page answers: with nothing, with hostile names, with half a job; and never with an inline script or style."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from dashboard.templatetags.qo import joburl
from queueops.conf import conf
from queueops.models import QuarantinedJob
from queueops.rdb.keys import SEP, control_id, instance
from tests.dashboard.conftest import HOSTILE, queue_row

PAGES = ("overview", "queues", "jobs", "workers", "locks", "changelog", "backlog", "flow", "diagnosis", "quarantine")
JOB = "5f7d20be-52e3-4d0a-8f6e-0c6b21d7a4e9"
ATTACK = "<img src=x onerror=alert(1)>"


def addresses() -> list[str]:
    found = [reverse(f"dashboard:{page}") for page in PAGES]
    found += [
        f"/queues/?name=default&state={s}" for s in ("queued", "parked", "running", "scheduled", "failed", "bogus")
    ]
    found += [
        "/locks/?control=nope",
        "/locks/?control=S:nope&key=",
        "/locks/?kind=semaphore&q=x",
        "/locks/?name=S%3Ax&server=zzz",
    ]
    found += [
        "/changelog/?event=lock&q=zzz&queue=",
        "/changelog/?before=1-0",
        "/changelog/?before=bogus",
        "/flow/?queue=nope",
    ]
    found += [
        "/quarantine/?reason=x&queue=&function=y",
        "/quarantine/?after=bogus",
        "/workers/?state=silent&queue=x&name=y",
    ]
    found += ["/queues/?name=default&offset=999999999999999999", "/jobs/?q=zzz", "/queues/?name=%00", "/jobs/a%2Fb/"]
    return found


def check(html: str) -> None:
    """No inline style or script, no event handler; every script and style comes from a file."""
    assert not re.search(r"<[^>]+\sstyle\s*=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert "<style" not in html
    assert not re.search(r"<[^>]*\son[a-z]+\s*=", html.replace("&lt;img src=x onerror=alert(1)&gt;", ""))


@pytest.mark.parametrize("address", addresses())
def test_every_page_answers_on_an_empty_redis(boss: Client, address: str) -> None:
    answer = boss.get(address)
    assert answer.status_code in (200, 404)
    check(answer.content.decode())
    part = boss.get(address, headers={"HX-Request": "true", "HX-Target": "live"})
    assert part.status_code == answer.status_code
    assert 'id="live"' in part.content.decode()
    assert "<html" not in part.content.decode()


def test_empty_pages_say_what_would_appear(boss: Client) -> None:
    assert "manage.py queueops monitor" in boss.get("/").content.decode()
    assert "@controlled" in boss.get("/locks/").content.decode()
    assert "manage.py queueops worker" in boss.get("/workers/").content.decode()
    assert "The quarantine is empty" in boss.get("/quarantine/").content.decode()


@pytest.mark.parametrize(
    "address", ["/", "/queues/", "/locks/", "/changelog/", "/backlog/", "/flow/", "/quarantine/", "/workers/"]
)
def test_pages_speak_japanese(boss: Client, address: str) -> None:
    html = boss.get(address, headers={"Accept-Language": "ja"}).content.decode()
    assert '<html lang="ja"' in html
    assert "キュー" in html
    assert "Skip to content" not in html


def seed(redis: Any, name: str) -> None:
    """A queue of that name with a job of every kind, and a control of that name."""
    keys = conf.keys
    fields = {
        "status": "queued",
        "origin": name,
        "qo_func": f"app.{name}",
        "description": f"app.f('{name}', password='hunter2')",
    }
    redis.hset(keys.of("rq_job", JOB), mapping={**fields, "data": b"not a pickle", "enqueued_at": "yesterday"})
    redis.sadd(keys.static("rq_queues"), keys.of("rq_queue", name))
    redis.lpush(keys.of("rq_queue", name), JOB, "gone-without-a-hash")
    redis.hset(keys.of("rq_job", "half"), mapping={"status": "weird"})
    for family in ("rq_wip", "rq_scheduled", "rq_deferred", "rq_failed", "quarantined", "parked"):
        redis.zadd(keys.of(family, name), {"half": 1, f"{name}:x": 2})
    redis.zadd(keys.static("functions"), {f"{name}{SEP}app.{name}": 1})
    lock = instance("semaphore", name, name)
    redis.hset(keys.static("controls"), control_id("semaphore", name), '{"limit": 2, "kind": "semaphore"}')
    redis.zadd(keys.static("instances"), {lock: 1, f"junk{name}": 2})
    redis.zadd(keys.of("holders", lock), {name or "t": 10**16})
    redis.hset(keys.static("leases"), name or "t", f'{{"job": "{JOB}", "worker": "w", "started": 1, "span": 30000000}}')
    redis.zadd(keys.of("line", lock), {JOB: 1})
    redis.xadd(
        keys.static("log"),
        {"e": "lock.acquired", "q": name, "c": lock, "job": JOB, "by": name, "why": f"token={name}x"},
    )
    redis.sadd(keys.static("rq_workers"), keys.of("rq_worker", name))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_and_act_on_the_thing_named(
    boss: Client, redis: Any, publish: Callable[..., Any], name: str
) -> None:
    seed(redis, name)
    QuarantinedJob.objects.create(
        server="high", job_id=name or "x", queue=name, function=name, reason=name, error=name,
        description=name, quarantined_at="2026-03-12T14:32:00Z",
    )  # fmt: skip
    publish(queue_row(name), needs=[{"level": "bad", "kind": "late", "text": f"{name} is late", "href": "/queues/"}],
            banner=[{"kind": "pause", "target": f"q:{name}", "by": name, "reason": name, "until": 0}])  # fmt: skip
    query = urlencode({"name": name})
    pages = [
        "/",
        "/queues/",
        f"/queues/?{query}",
        "/locks/",
        "/changelog/",
        "/flow/",
        "/backlog/",
        "/quarantine/",
        "/workers/",
        "/jobs/",
    ]
    pages += [
        f"/queues/?{query}&state={s}"
        for s in ("queued", "parked", "running", "scheduled", "deferred", "failed", "quarantined")
    ]
    pages += [
        f"/locks/?{urlencode({'control': 'S:' + name})}",
        f"/locks/?{urlencode({'control': 'S:' + name, 'key': name})}",
    ]
    pages += [
        f"/flow/?{urlencode({'queue': name})}",
        f"/changelog/?{urlencode({'queue': name})}",
        f"/jobs/?{urlencode({'q': name})}",
    ]
    pages += [f"/quarantine/?{urlencode({'reason': name, 'queue': name})}", f"/jobs/{JOB}/", "/jobs/half/"]
    for page in pages:
        answer = boss.get(page)
        assert answer.status_code in (200, 302), page
        html = answer.content.decode()
        assert ATTACK not in html, page
        assert "hunter2" not in html, page
        check(html)
    html = boss.get(f"/queues/?{query}").content.decode()
    assert f"/queues/?{urlencode({'name': name, 'state': 'failed'})}".replace("&", "&amp;").split("?")[1] or html
    assert 'data-kind="queue"' in html


def test_a_hostile_job_is_shown_and_masked(boss: Client, redis: Any) -> None:
    keys = conf.keys
    redis.hset(
        keys.of("rq_job", JOB),
        mapping={
            "status": "failed",
            "origin": "default",
            "description": f"f({ATTACK!r}, auth={{'token': 'hunter2'}}, url='amqp://u:hunter2@h')",
            "exc_info": b"x\x9cnot zlib",
            "meta": b"\x80\x04cos\nsystem\n",
            "qo_claims": '[1, {"c": "S:x", "t": "<b>"}]',
            "timeout": ATTACK,
            "qo_since": "soon",
            "created_at": "yesterday",
        },
    )
    html = boss.get(f"/jobs/{JOB}/").content.decode()
    assert ATTACK not in html and "hunter2" not in html and '<b>"' not in html
    check(html)


def test_huge_values_are_cut(boss: Client, redis: Any) -> None:
    key = conf.keys.of("rq_job", JOB)
    redis.hset(
        key, mapping={"status": "queued", "origin": "default", "description": "x" * 5_000_000, "data": b"y" * 5_000_000}
    )
    redis.lpush(conf.keys.of("rq_queue", "default"), JOB)
    for page in (f"/jobs/{JOB}/", f"/jobs/{JOB}/?full=1", "/queues/?name=default&state=queued"):
        html = boss.get(page).content.decode()
        assert len(html) < 300_000
        assert "xxxxxxxxxxxxxxxxxxxx" not in html


def test_a_key_of_another_type_takes_down_nothing(boss: Client, redis: Any) -> None:
    keys = conf.keys
    redis.set(keys.of("rq_queue", "default"), "not a list")
    redis.set(keys.of("rq_failed", "default"), "not a zset")
    redis.set(keys.of("rq_job", JOB), "not a hash")
    redis.set(keys.static("log"), "not a stream")
    redis.set(keys.static("instances"), "not a zset")
    redis.set(keys.static("snapshot"), "not json")
    for page in [
        "/",
        "/queues/?name=default",
        "/queues/?name=default&state=failed",
        f"/jobs/{JOB}/",
        "/changelog/",
        "/locks/",
    ]:
        assert boss.get(page).status_code == 200, page


def test_the_head_never_reads_what_it_does_not_know(boss: Client, publish: Callable[..., Any]) -> None:
    publish(
        {"name": 5, "open": None, "spark": {"in": "x"}, "paused": "yes"},
        {"nonsense": 1},
        "text",
        totals=None,
        needs=["x"],
    )
    assert boss.get("/").status_code == 200


def test_a_stale_snapshot_says_its_age(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    body = publish(queue_row("default"))
    answer = boss.get("/")
    assert int(answer["QO-Data-Age"]) < 5000
    publish(queue_row("default"), at=body["at"] - 42_000_000)
    assert 41_000 < int(boss.get("/")["QO-Data-Age"]) < 60_000


def test_without_a_monitor_health_is_unknown_and_figures_are_read_now(boss: Client, redis: Any) -> None:
    redis.lpush(conf.keys.of("rq_queue", "default"), "a", "b", "c")
    html = boss.get("/").content.decode()
    assert "Unknown." in html and "monitor does not report" in html
    assert ">3</" in html


@pytest.mark.parametrize("job", ["a/b", "x\ny", "キュー", "<b>", "%2F", "a?b#c", " "])
def test_a_job_of_any_id_has_its_page(boss: Client, redis: Any, job: str) -> None:
    redis.hset(conf.keys.of("rq_job", job), mapping={"status": "queued", "origin": "default", "description": "me"})
    address = reverse("dashboard:job", args=[job])
    assert joburl(job) == address
    answer = boss.get(address)
    assert answer.status_code == 200
    assert answer.context["job"].id == job


def test_faults_look_like_ours(boss: Client) -> None:
    answer = boss.get("/no/such/page")
    assert answer.status_code == 404 and b"Nothing here" in answer.content
    check(answer.content.decode())
    assert "The page failed" in render_to_string("500.html")
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403 and b"The form is too old" in answer.content
    check(answer.content.decode())
