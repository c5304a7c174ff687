"""Workers and the history of locks, on their pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from queueops import Lock
from queueops.models import Intervention
from tests.scripts.kit import Doors, K, claim


@pytest.fixture
def doors(boss: Client, redis: Any) -> Doors:
    return Doors(redis)


def say(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


def listed(doors: Doors, name: str) -> None:
    doors.claim(worker=name)
    doors.redis.sadd(K.static("rq_workers"), K.of("rq_worker", name))
    doors.redis.hset(K.of("rq_worker", name), mapping={"queues": "default", "birth": "2026-01-01T00:00:00.000000Z"})


def test_quiet_and_back(boss: Client, doors: Doors) -> None:
    listed(doors, "w1")
    page = boss.get("/workers/").content.decode()
    assert "/do/quiet/" in page and "/do/unquiet/" not in page
    answer = boss.post("/do/quiet/", {"worker": "w1", "reason": "deploy", "next": "/workers/"}, follow=True)
    assert "starts nothing new" in say(answer)
    page = answer.content.decode()
    assert "quiet, by boss" in page and "/do/unquiet/" in page
    assert "quiet already" in say(boss.post("/do/quiet/", {"worker": "w1", "reason": "again"}, follow=True))
    assert "starts jobs again" in say(boss.post("/do/unquiet/", {"worker": "w1", "reason": "done"}, follow=True))
    assert list(Intervention.objects.order_by("pk").values_list("verb", "target", "state")) == [
        ("quiet", "w1", "done"), ("quiet", "w1", "failed"), ("unquiet", "w1", "done"),
    ]  # fmt: skip


def test_a_job_in_its_workers_own_process_offers_no_kill(boss: Client, doors: Doors) -> None:
    listed(doors, "w1")
    doors.enqueue()
    job, token = doors.start(worker="w1", simple=True) or ("", "")
    page = boss.get("/workers/").content.decode()
    assert job[:8] in page and "/do/stop_job/" not in page
    assert "own process" in say(boss.post("/do/stop_job/", {"job": job, "reason": "r"}, follow=True))
    doors.settle(token)
    job = doors.enqueue()
    doors.start(worker="w1")
    assert "/do/stop_job/" in boss.get("/workers/").content.decode()
    assert "does not listen" in say(boss.post("/do/stop_job/", {"job": job, "reason": "r"}, follow=True))
    assert "does not listen" in say(boss.post("/do/stop_worker/", {"worker": "w1", "reason": "r"}, follow=True))


def test_an_unknown_worker_is_said_to_be_unknown(boss: Client, doors: Doors) -> None:
    listed(doors, "w1")
    answer = boss.post("/do/quiet/", {"worker": "<b>w2</b>", "reason": "r"}, follow=True)
    assert "no worker named" in say(answer) and "<b>w2" not in answer.content.decode()


def test_c23_a_lock_keeps_its_history_after_it_is_free(boss: Client, doors: Doors, settings: Any) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CHANGELOG_LENGTH": 10}
    lock = claim("lock", "book", "1")
    doors.enqueue(lock)
    _, token = doors.start() or ("", "")
    waiting = doors.enqueue(lock)
    assert doors.start() is None
    doors.settle(token)
    for n in range(20):
        other = Lock("book", "2", connection=doors.redis)
        assert other.acquire(f"t{n}", 30) and other.release(f"t{n}")
    page = boss.get("/locks/?control=L:book&key=1").content.decode()
    assert page.count('<tr id="e-') == 4, "acquired, parked, released, woken"
    assert waiting[:8] in page and "1 refusal" in page and "newest 50 events" in page
