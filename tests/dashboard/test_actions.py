"""The verbs from the pages: the thing named, once, with a reason, and a row that says so."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from queueops.conf import conf
from queueops.models import Intervention, Pause, QuarantinedJob
from queueops.rdb.client import default_server
from queueops.rdb.keys import control_id
from tests.dashboard.conftest import HOSTILE


@pytest.fixture
def mirrored(boss: Client, transactional_db: None) -> Client:
    from queueops.mirror import rebuild

    rebuild(default_server())
    return boss


def say(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


@pytest.mark.parametrize("name", [n for n in HOSTILE if "\x00" not in n])
def test_pause_and_resume_act_on_the_queue_named(mirrored: Client, redis: Any, name: str) -> None:
    redis.sadd(conf.keys.static("rq_queues"), conf.keys.of("rq_queue", name))
    answer = mirrored.post(
        "/do/pause/", {"kind": "queue", "name": name, "reason": "why", "for": "30m", "next": "/"}, follow=True
    )
    assert "Paused" in say(answer)
    assert redis.hkeys(conf.keys.static("paused")) == [f"q:{name}".encode()]
    pause = Pause.objects.get()
    assert (pause.name, pause.actor, pause.reason) == (name, "boss", "why") and pause.until is not None
    mirrored.post("/do/resume/", {"kind": "queue", "name": name, "reason": "done", "next": "/"})
    assert redis.hlen(conf.keys.static("paused")) == 0
    assert list(Intervention.objects.order_by("id").values_list("verb", flat=True)) == ["pause", "resume"]


def test_a_reason_is_required(mirrored: Client, redis: Any) -> None:
    answer = mirrored.post("/do/pause/", {"kind": "queue", "name": "default", "reason": "  "}, follow=True)
    assert "Say why" in say(answer)
    assert not Pause.objects.exists() and not Intervention.objects.exists()


@pytest.mark.parametrize("duration", ["30", "-5m", "m", "1y", "99999999d", "0m", "1e3m", "３m"])
def test_a_wrong_duration_is_refused(mirrored: Client, duration: str) -> None:
    data = {"kind": "queue", "name": "default", "reason": "r", "for": duration}
    assert "duration" in say(mirrored.post("/do/pause/", data, follow=True))
    assert not Pause.objects.exists()


def test_an_unknown_name_is_refused_and_said(mirrored: Client) -> None:
    answer = mirrored.post("/do/resume/", {"kind": "queue", "name": "defualt", "reason": "r"}, follow=True)
    assert "default" in say(answer)


def test_limit_and_revert(mirrored: Client, redis: Any) -> None:
    control = control_id("semaphore", "s3")
    redis.hset(conf.keys.static("controls"), control, '{"name": "s3", "kind": "semaphore", "limit": 4}')
    mirrored.post("/do/limit/", {"control": control, "limit": "2", "reason": "r", "for": ""})
    assert b'"limit": 2' in redis.hget(conf.keys.static("overrides"), control)
    assert "whole number" in say(
        mirrored.post("/do/limit/", {"control": control, "limit": "x", "reason": "r"}, follow=True)
    )
    mirrored.post("/do/limit/", {"control": control, "revert": "1", "reason": "r"})
    assert redis.hlen(conf.keys.static("overrides")) == 0


def test_the_way_back_never_leaves_the_site(mirrored: Client) -> None:
    for target in ("https://evil.example/", "//evil.example", "javascript:alert(1)", ""):
        answer = mirrored.post("/do/pause/", {"kind": "queue", "name": "default", "reason": "r", "next": target})
        assert answer["Location"] == "/"
    answer = mirrored.post(
        "/do/pause/", {"kind": "queue", "name": "default", "reason": "r", "next": "/queues/?name=a%2Fb"}
    )
    assert answer["Location"] == "/queues/?name=a%2Fb"


def test_htmx_is_told_where_to_go(mirrored: Client) -> None:
    data = {"kind": "queue", "name": "default", "reason": "r", "next": "/queues/"}
    answer = mirrored.post("/do/pause/", data, headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/queues/")


def keep(job: str, **fields: Any) -> None:
    defaults = {"server": default_server().alias, "queue": "default", "function": "app.f", "reason": "r"}
    QuarantinedJob.objects.create(job_id=job, quarantined_at="2026-03-12T14:32:00Z", **{**defaults, **fields})


def test_bulk_needs_a_selection_and_adds_up(mirrored: Client) -> None:
    keep("a")
    keep("b", reason="other")
    assert "No job is selected" in say(mirrored.post("/do/replay/", {"reason": "r"}, follow=True))
    answer = mirrored.post("/do/discard/", {"job": ["a", "a", "zzz"], "reason": "r"}, follow=True)
    assert "Discarded" in say(answer)
    row = Intervention.objects.latest("id")
    assert row.after["done"] + row.after["skipped"] + row.after["gone"] == row.after["total"] == 2


def test_all_of_a_filter_means_exactly_those(mirrored: Client) -> None:
    keep("a", reason="x")
    keep("b", reason="x and more")
    keep("c", reason="")
    mirrored.post("/do/discard/", {"all": "1", "filter_reason": "x", "reason": "why"})
    row = Intervention.objects.get()
    assert (row.reason, row.before["job_ids"]) == ("why", ["a"])
    mirrored.post("/do/discard/", {"all": "1", "filter_reason": "", "reason": "why"})
    assert Intervention.objects.latest("id").before["job_ids"] == ["c"]
