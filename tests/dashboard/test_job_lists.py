"""``/jobs/``: lists of every state, filters, pages that stay right, bulk work with its progress."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.selectors import snapshots
from queueops.models import Batch, Intervention
from queueops.operations.recover import recover
from tests.dashboard.conftest import HOSTILE, Counting, queue_row
from tests.scripts.kit import Doors, K, claim

FILL = """
for i = 0, ARGV[1] - 1 do
  local id, queue = string.format('job-%06d', i), 'q' .. (i % 5)
  redis.call('HSET', ARGV[2] .. id, 'status', ARGV[3], 'origin', queue, 'qo_func', 'app.f', 'description',
    'app.f(' .. i .. ')', 'data', 'x', 'ended_at', '2026-01-01T00:00:00Z',
    'qo_since', string.format('%.0f', 1.7e15 + i))
  redis.call('RPUSH', ARGV[4] .. queue, id)
  redis.call('ZADD', ARGV[5] .. queue, i + 1, id)
end
"""
LISTS = ("queued", "parked", "running", "scheduled", "retries", "deferred", "failed", "quarantined", "recurring")
FILTERS = ("", "&text=app.f(7)", "&function=zz&error=x&tag=y&older=1m&younger=2d", "&queue=q1", "&text=zz")


def fill(redis: Any, count: int, state: str) -> None:
    status = {"queued": "queued", "failed": "failed", "quarantined": "failed", "deferred": "deferred"}
    family = {"queued": "line", "parked": "parked", "running": "rq_wip", "retries": "rq_scheduled",
              "recurring": "rq_scheduled", "quarantined": "quarantined"}  # fmt: skip
    redis.eval(
        FILL, 0, count, K.of("rq_job", ""), status.get(state, "scheduled"),
        K.of("rq_queue", "") if state == "queued" else K.of("bell", ""), K.of(family.get(state, f"rq_{state}"), ""),
    )  # fmt: skip


@pytest.mark.parametrize("count", [10, 10_000])
@pytest.mark.parametrize("state", LISTS)
def test_c33_three_round_trips_and_few_queries_at_any_size_and_depth(
    boss: Client, counting: Counting, redis: Any, publish: Callable[..., Any], state: str, count: int
) -> None:
    fill(redis, count, state)
    publish(*(queue_row(f"q{i}") for i in range(5)))
    boss.get("/jobs/")  # loads what is loaded once
    pages = [f"/jobs/?state={state}{more}" for more in FILTERS]
    found = boss.get(pages[0]).context["jobs"]
    pages += [f"/jobs/?state={state}&after={found.after}"] if found.after else []
    for address in pages:
        snapshots.forget()
        counting.trips = 0
        with CaptureQueriesContext(connection) as queries:
            answer = boss.get(address)
        assert answer.status_code == 200
        assert counting.trips <= 3, (address, counting.trips)
        assert len(queries) <= 8, (address, len(queries))
        assert answer.context["jobs"].looked <= 1000


def test_pages_join_forward_and_back(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    fill(redis, 230, "failed")
    publish(*(queue_row(f"q{i}") for i in range(5)))
    seen, pages, query = [], [], ""
    while True:
        found = boss.get(f"/jobs/?state=failed{query}").context["jobs"]
        pages.append([row.id for row in found.rows])
        seen += pages[-1]
        if not found.after:
            break
        query = f"&after={found.after}"
    assert seen == [f"job-{i:06d}" for i in reversed(range(230))]
    for expected in reversed(pages[:-1]):
        found = boss.get(f"/jobs/?state=failed&before={found.before}").context["jobs"]
        assert [row.id for row in found.rows] == expected
    assert found.before is None or [r.id for r in boss.get("/jobs/?state=failed").context["jobs"].rows] == pages[0]


def test_a_filter_says_how_far_it_looked_and_goes_on(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    fill(redis, 3000, "failed")
    publish(queue_row("q0", held={"failed": 3000}), *(queue_row(f"q{i}", held={}) for i in range(1, 5)))
    query, hits, trips = "", [], 0
    while True:
        answer = boss.get(f"/jobs/?state=failed&text=app.f(42){query}")
        found = answer.context["jobs"]
        hits, trips = hits + [row.id for row in found.rows], trips + 1
        if not found.after:
            break
        assert "looked at 1,000 of 3,000" in answer.content.decode() and "Look on" in answer.content.decode()
        query = f"&after={found.after}"
    assert (hits, trips) == (["job-000042"], 3)


def test_an_id_leads_to_its_job_and_a_text_filters_the_list(
    boss: Client, redis: Any, publish: Callable[..., Any]
) -> None:
    doors = Doors(redis)
    job, other = doors.enqueue(mapping={"description": "app.f('Pear')"}), doors.enqueue(function="app.g")
    publish(queue_row("default"))
    assert boss.get(f"/jobs/?q={job}").headers["Location"] == f"/jobs/{job}/"
    assert [row.id for row in boss.get("/jobs/?q=pear").context["jobs"].rows] == [job]
    assert [row.id for row in boss.get("/jobs/?q=APP.G").context["jobs"].rows] == [other]


def test_hostile_text_is_text_and_secrets_are_masked(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    doors = Doors(redis)
    for name in HOSTILE:
        doors.enqueue(
            function=name or "app.f", job_id=f"id {name}",
            mapping={"description": f"f({name!r}, password='hunter2')", "qo_tags": f"\x1f{name or 'x'}\x1f",
                     "qo_error_line": f"E: {name}"},
        )  # fmt: skip
    publish(queue_row("default"))
    for address in (
        "/jobs/",
        "/queues/?name=default&state=queued",
        "/jobs/?q=<img src=x>",
        "/jobs/?tag=%3Cimg%3E&error={{7*7}}",
    ):
        html = boss.get(address).content.decode()
        assert (
            "<img src" not in html and "'onmouseover='" not in html and "49" not in re.findall(r"value=\"(\d+)\"", html)
        )
        assert "hunter2" not in html
        # an id is sent back as it is, and shown with its characters written out
        assert "\u202e" not in re.sub(r'(value|data-name)="[^"]*"', "", html)
    assert "••••" in boss.get("/jobs/").content.decode()


def test_bad_addresses_are_answered(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"))
    for query in ("state=odd", "after=%00", "after=default~W10", "before=x~y", "older=soon", "queue=%F0%9F%A6%86",
                  "after=default~WyJuYW4iLCIiLDAsIngiXQ", "text=%00%ED%A0%80", "tag=%1F"):  # fmt: skip
        assert boss.get(f"/jobs/?{query}").status_code == 200, query
    assert "is no age" in boss.get("/jobs/?older=soon").content.decode()


def test_all_that_match_in_the_background_with_progress_and_stop(
    boss: Client, redis: Any, publish: Callable[..., Any]
) -> None:
    doors = Doors(redis)
    for i in range(120):
        doors.enqueue(job_id=f"j{i:03d}", mapping={"description": f"app.f({i})"})
    publish(queue_row("default"))
    page = boss.get("/jobs/?state=queued&text=app.f(1")
    html = page.content.decode()
    fields = dict(re.findall(r'name="(filter_\w+)" value="([^"]*)"', html))
    assert fields == {"filter_state": "queued", "filter_text": "app.f(1"}
    assert 'data-dialog="quarantine"' in html and 'data-total="31"' in html
    form = {**fields, "all": "1", "reason": "test", "next": "/jobs/"}
    answer = boss.post("/do/quarantine/", form, follow=True).content.decode()
    assert "goes on in the background" in answer and "collecting" in answer
    assert recover(batch_seconds=20).batch_items == 31
    batch = Batch.objects.get()
    assert (batch.done, batch.total, batch.state) == (31, 31, "done")
    doors.enqueue(job_id="late")
    boss.post("/do/discard/", {"filter_state": "queued", "all": "1", "reason": "x"})
    page = boss.get("/interventions/").content.decode()
    work = Batch.objects.get(verb="discard")
    assert f"w-{work.pk}" in page and 'data-dialog="stopbatch"' in page
    boss.post("/do/stop_batch/", {"batch": work.pk, "reason": "wrong"})
    recover(batch_seconds=20)
    assert Intervention.objects.get(verb="discard").after["stopped_because"] == "wrong"
    assert len(doors.queued()) == 90
    assert boss.post("/do/stop_batch/", {"batch": "none", "reason": "x"}, follow=True).status_code == 200


def test_the_empty_queue_name_is_not_every_queue(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    doors = Doors(redis)
    other = doors.enqueue()
    redis.sadd(K.static("rq_queues"), K.of("rq_queue", ""))
    redis.rpush(K.of("rq_queue", ""), "empty")
    redis.hset(K.of("rq_job", "empty"), mapping={"status": "queued", "origin": "", "data": "x"})
    publish(queue_row("default"), queue_row(""))
    html = boss.get("/jobs/?queue=&empty=1").content.decode()
    assert 'name="filter_queue" value=""' in html
    boss.post("/do/discard/", {"filter_state": "queued", "filter_queue": "", "all": "1", "reason": "x"})
    recover(batch_seconds=20)
    assert doors.queued() == [other]
    assert not redis.exists(K.of("rq_queue", ""))


def test_run_now_and_recurring(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    doors = Doors(redis)
    repeat = doors.enqueue(mode="schedule", due="+900", mapping={"status": "scheduled", "repeats_left": 3})
    entry = {"func_name": "app.<b>", "queue_name": "default", "cron": "0 3 * * *", "args": '["token=abc"]',
             "next_enqueue_time": "2026-01-01T03:00:00.000000Z"}  # fmt: skip
    redis.zadd(K.static("rq_cron_schedulers"), {"s": 1})
    redis.hset(K.of("rq_cron_scheduler", "s"), "cron_jobs", json.dumps([entry]))
    publish(queue_row("default"))
    answer = boss.get("/jobs/?state=recurring")
    html = answer.content.decode()
    assert [row.id for row in answer.context["jobs"].rows] == [repeat]
    assert answer.context["jobs"].counts["recurring"].number == 2
    assert "0 3 * * *" in html and "&lt;b&gt;" in html and "abc" not in html and 'data-dialog="cron"' in html
    boss.post("/do/run_now/", {"job": repeat, "reason": "sooner"})
    assert doors.queued() == [repeat]
    said = boss.post("/do/run_cron/", {"cron": "nobody", "reason": "x", "next": "/jobs/"}, follow=True).content.decode()
    assert "There is no cron entry named" in said


def test_run_now_of_a_parked_job_says_that_the_control_decides(boss: Client, redis: Any, publish: Any) -> None:
    doors, disk = Doors(redis), claim("semaphore", "disk")
    doors.enqueue(disk)
    doors.start()
    job = doors.enqueue(disk)
    doors.start()
    publish(queue_row("default"))
    said = boss.post("/do/run_now/", {"job": job, "reason": "x", "next": "/jobs/"}, follow=True).content.decode()
    assert "only the control decides" in said and doors.queued() == []


def test_who_may_only_see_is_told_why(client: Client, roles: dict[str, Any], redis: Any, publish: Any) -> None:
    Doors(redis).enqueue(mode="schedule", due="+900", mapping={"status": "scheduled"})
    publish(queue_row("default"))
    client.force_login(roles["viewer"])
    html = client.get("/jobs/?state=scheduled").content.decode()
    assert "This needs the permission" in html and "data-needs-selection" not in html
    for verb in ("run_now", "run_cron", "stop_batch", "requeue"):
        assert client.post(f"/do/{verb}/", {"reason": "x"}).status_code == 403
        assert client.get(f"/do/{verb}/").status_code == 405


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_list_in_both_languages(boss: Client, redis: Any, publish: Any, language: str) -> None:
    publish(queue_row("default"))
    boss.cookies["django_language"] = language
    for state in LISTS:
        html = boss.get(f"/jobs/?state={state}").content.decode()
        assert ("該当" in html or "ジョブ" in html) == (language == "ja")
