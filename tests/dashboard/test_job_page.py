"""``/jobs/<id>/``: the three doors with each check, the timeline, the attempts, what belongs to it."""

from __future__ import annotations

import base64
import pickle
import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard import explaining
from dashboard.arguments import arguments
from dashboard.selectors import attempts, snapshots
from dashboard.selectors.job_story import story
from queueops import operations
from tests.dashboard.conftest import HOSTILE, Counting, queue_row
from tests.scripts.kit import Doors, K, claim

DISK, BOOK = claim("semaphore", "disk", n=1), claim("lock", "book", "7")


@pytest.fixture
def doors(redis: Any, publish: Callable[..., Any]) -> Doors:
    found = Doors(redis)
    publish(queue_row("default"))
    return found


def checks(job: str) -> dict[tuple[str, str], Any]:
    why = explaining.why(job, story(job).facts)
    assert why and why.doors
    return {(check.what, check.name): check for check in why.doors.checks}


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_parked_job_says_what_holds_it_and_what_would(boss: Client, doors: Doors) -> None:
    doors.enqueue(DISK)
    doors.start(worker="w1")
    job = doors.enqueue(DISK, BOOK)
    assert doors.start(worker="w2") is None
    found = checks(job)
    assert not found["control", "disk"].ok and found["control", "disk"].blocks
    assert found["control", "disk"].facts["place"] == 1
    assert found["control", "book"].ok and not found["control", "book"].blocks
    assert found["queue", "default"].ok and found["worker", "default"].ok and found["function", "app.f"].ok
    page = text(boss.get(f"/jobs/{job}/").content.decode())
    for part in ("parked by disk", "Claim: refused, so parked", "disk is full", "1 of 1 held", "place 1 in its line",
                 "book 7 has room", "Not reached yet", "Queue default is not paused"):  # fmt: skip
        assert part in page, part


def test_checks_of_pauses_isolations_times_and_workers(doors: Doors, db: None) -> None:
    who = {"actor": "ann", "reason": "because <b>"}
    job = doors.enqueue()
    assert not checks(job)["worker", "default"].ok
    doors.redis.hset(K.static("served"), "default", doors.redis.time()[0] * 1_000_000)
    assert all(check.ok for check in checks(job).values())
    operations.pause("queue", "default", **who)
    assert checks(job)["queue", "default"].facts["by"] == "ann"
    operations.resume("queue", "default", **who)
    operations.isolate("function", "app.f", **who)
    assert not checks(job)["isolated", "app.f"].ok
    operations.unisolate("function", "app.f", **who)
    later = doors.enqueue(mode="schedule", due="+900", mapping={"status": "scheduled"})
    assert not checks(later)["due", ""].ok
    child = doors.enqueue(mapping={"status": "deferred", "dependency_ids": f'["{job}"]'})
    assert checks(child)["parents", ""].facts["jobs"] == [(job, "queued")]


def test_doors_of_a_job_that_runs_or_is_over(boss: Client, doors: Doors) -> None:
    job = doors.enqueue(DISK)
    _, token = doors.start() or ("", "")
    page = text(boss.get(f"/jobs/{job}/").content.decode())
    assert "Claim: passed" in page and "When it ends, its controls are given back" in page and "Stop…" in page
    doors.settle(token, "completed")
    page = text(boss.get(f"/jobs/{job}/").content.decode())
    assert "It was let through once." in page and "completed" in page


def stored(error: str) -> str:
    return base64.b64encode(zlib.compress(error.encode())).decode()


def test_attempts_with_their_waits_runs_outcomes_and_tracebacks(boss: Client, doors: Doors) -> None:
    redis = doors.redis
    job = doors.enqueue(DISK, mapping={"created_at": "2026-01-01T00:00:00.000000Z", "retries_left": 1})
    _, first = doors.start(worker="w1") or ("", "")
    redis.hset(K.of("rq_job", job), "status", "queued")
    redis.rpush(K.of("rq_queue", "default"), job)
    doors.settle(first, "retried", error="SlowDown: 503 password=hunter2", fingerprint="ab")
    _, second = doors.start(worker="w2") or ("", "")
    error = stored("Traceback\n  File <img src=x>\nE: 1")
    redis.xadd(
        K.of("rq_results", job),
        {"type": 2, "worker_name": "w1", "execution_id": first, "exc_string": error,
         "return_value": base64.b64encode(pickle.dumps(Bomb())).decode()},
    )  # fmt: skip
    doors.settle(second, "failed", error="E: 2")
    answer = boss.get(f"/jobs/{job}/")
    html = answer.content.decode()
    found = answer.context["attempts"]
    assert [(a.number, a.outcome, a.worker) for a in found] == [(1, "retried", "w1"), (2, "failed", "w2")]
    assert all(a.ran is not None and a.waited is not None for a in found)
    assert found[0].error.startswith("Traceback") and found[1].said == "E: 2"
    assert "&lt;img src=x&gt;" in html and "<img src" not in html and "hunter2" not in html
    assert "Error of attempt 1" in html and "1 retry left" in html
    assert Bomb.gone_off is False


class Bomb:
    gone_off = False

    def __reduce__(self) -> Any:
        return (setattr, (Bomb, "gone_off", True))


def test_ten_attempts_at_most_and_odd_results(boss: Client, doors: Doors) -> None:
    job = doors.enqueue()
    for n in range(30):
        doors.redis.xadd(K.of("rq_results", job), {"type": "x", "exc_string": "§§§" if n % 2 else "YWJj"})
    found = story(job).job
    assert found and len(found.results) == 10
    assert boss.get(f"/jobs/{job}/").status_code == 200
    doors.redis.delete(K.of("rq_results", job))
    doors.redis.set(K.of("rq_results", job), "no stream")
    assert boss.get(f"/jobs/{job}/").status_code == 200


def test_the_timeline_tells_a_step_as_one_and_sums_up(doors: Doors, boss: Client) -> None:
    job = doors.enqueue(DISK, BOOK, mapping={"created_at": "2026-01-01T00:00:00.000000Z"})
    _, token = doors.start() or ("", "")
    doors.settle(token, "completed")
    moments = attempts.timeline(story(job).entries, 1_767_225_600_000_000, "default")
    assert [m.entry.event for m in moments] == ["job.accepted", "job.started", "job.completed"]
    assert set(moments[1].took) == {DISK["i"], BOOK["i"]} == set(moments[2].gave_back)
    sums = attempts.spans(moments, moments[-1].entry.at)
    assert sums and sums.phase == "" and abs(sums.total - sums.waiting - sums.running) < 1e-6
    assert "took in one step:" in boss.get(f"/jobs/{job}/").content.decode()


def test_a_timeline_of_which_the_changelog_lost_a_part_says_so(doors: Doors, boss: Client) -> None:
    job = doors.enqueue(mapping={"created_at": "2026-01-01T00:00:00.000000Z"})
    _, token = doors.start() or ("", "")
    doors.settle(token, "failed", commands=[("HSET", K.of("rq_job", job), "status", "failed")], quarantine=1)
    doors.redis.xtrim(K.static("log"), maxlen=0)
    page = text(boss.get(f"/jobs/{job}/").content.decode())
    assert "The changelog does not hold what happened in between." in page
    assert "so far" not in page and "waiting, 0 s running" not in page


def test_what_belongs_to_it(boss: Client, doors: Doors, settings: Any) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "LOG_URL": "https://logs.example/?q={job_id}&f={function}"}
    parent = doors.enqueue(
        job_id="a&b/c", mapping={"qo_tags": "\x1fred\x1f<b>\x1f", "description": "app.f(1, token='abc', n=[2, 3])",
                                 "retries_left": 2}
    )  # fmt: skip
    doors.enqueue(job_id="child", mapping={"status": "deferred", "dependency_ids": '["a&b/c"]'})
    doors.redis.sadd(K.of("rq_job", parent) + ":dependents", "child")
    html = boss.get("/jobs/a&b/c/").content.decode()
    assert "https://logs.example/?q=a%26b%2Fc&amp;f=app.f" in html and 'rel="noopener noreferrer"' in html
    assert "?tag=%3Cb%3E" in html and 'href="/jobs/child/"' in html and "Retries left" in html
    assert "<dd>[2, 3]</dd>" in html and "abc" not in html
    assert 'href="/jobs/a&amp;b/c/"' in boss.get("/jobs/child/").content.decode()


@pytest.mark.parametrize("count", [10, 10_000])
def test_c33_a_job_costs_the_same_at_any_size(
    boss: Client, counting: Counting, doors: Doors, publish: Any, count: int
) -> None:
    doors.enqueue(DISK)
    doors.start()
    pipe = doors.redis.pipeline(transaction=False)
    for n in range(count):
        pipe.rpush(K.of("rq_queue", "default"), f"o{n}")
        pipe.xadd(K.static("log"), {"e": "job.started", "job": f"o{n}"})
        pipe.zadd(K.of("line", DISK["i"]), {f"o{n}": n})
        pipe.sadd(K.of("rq_job", "it") + ":dependents", f"o{n}")
    pipe.execute()
    job = doors.enqueue(DISK, BOOK, job_id="it", at_front=True)
    doors.start()
    boss.get(f"/jobs/{job}/")
    snapshots.forget()
    counting.trips = 0
    with CaptureQueriesContext(connection) as queries:
        assert boss.get(f"/jobs/{job}/").status_code == 200
    assert counting.trips <= 1 + 3 + 4 + 5 + 2, counting.trips
    assert len(queries) <= 6


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_in_every_part(boss: Client, doors: Doors, name: str) -> None:
    bad = claim("lock", name or "x", name)
    doors.enqueue(bad, function=name or "f")
    doors.start(worker=f"w{name}")
    job = doors.enqueue(
        bad, function=name or "f", mapping={"description": f"f({name!r})", "qo_tags": f"\x1f{name}\x1f"}
    )
    doors.start(worker=f"w{name}")
    html = boss.get(f"/jobs/{job}/").content.decode()
    assert (
        "<img src" not in html
        and "'onmouseover='" not in html
        and "\u202e" not in re.sub(r'\s[\w-]+="[^"]*"', "", html)
    )


@pytest.mark.parametrize(
    "description, expected",
    [
        ("a.f(1, 'b, c', d={'e': (1, 2)})", [("1", "1"), ("2", "'b, c'"), ("d", "{'e': (1, 2)}")]),
        ("f()", []),
        ("f(<object at 0x7f>)", None),
        ("not a call", None),
        ("f(**x)", None),
        ("f(" + "(" * 3000, None),
        ("f(" + "[" * 900 + "]" * 900 + ")", None),
        ("f('" + "x" * 5000 + "')", None),
        ("f('é', n=1)", [("1", "'é'"), ("n", "1")]),
        ("f('\x00')", None),
    ],
)
def test_arguments_are_read_as_syntax(description: str, expected: Any) -> None:
    found = arguments(description)
    assert (found if found is None else [(a.name, a.value) for a in found]) == expected


def test_the_timeline_is_of_this_job_alone(doors: Doors, boss: Client) -> None:
    """Ids that people give may begin alike."""
    for job in ("order-1000", "order-10001"):
        doors.enqueue(job_id=job)
        assert doors.start()
    assert [entry.job for entry in story("order-1000").entries] == ["order-1000"]
