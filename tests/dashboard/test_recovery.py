"""The queue page answers whether the queue has recovered, in words, and never calls the unknown good."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from queueops.conf import conf
from queueops.models import Rollup
from tests.dashboard.conftest import queue_row


def kept(redis: Any, minutes: int, **counts: int) -> None:
    """The last minutes of the queue, as the monitor keeps them."""
    now = int(redis.time()[0]) // 60 * 60
    for n in range(1, minutes + 1):
        base = {"width": 60, "start": now - 60 * n, "server": "high"}
        Rollup.objects.create(**base, queue="", counts={"minutes": 1}, gauges={"open": 1})
        done = {"f": {"n": counts, "w": {}, "r": {}, "wt": 0, "rt": 0}}
        Rollup.objects.create(
            **base, queue="default", counts=counts, functions=done, gauges={"waiting": 10 * n, "oldest_age": 5.0 * n}
        )
    sample = json.dumps({"at": 1, "queues": {"default": [0, {}]}})
    redis.rpush(conf.keys.static("samples"), sample, sample)


def queue(**more: Any) -> dict[str, Any]:
    made = queue_row("default", **{"oldest_age": 2.0, "max_age": 60.0, **more})
    return {**made, "open": {**dict.fromkeys(made["open"], 0), "queued": 1}, "held": {"failed": 0, "quarantined": 0}}


def text(boss: Client, name: str = "default") -> str:
    return boss.get("/queues/", {"name": name}).content.decode()


def test_a_queue_that_has_recovered(boss: Client, redis: Any, publish: Any) -> None:
    publish(queue())
    kept(redis, 30, accepted=5, completed=9)
    assert "Yes: all conditions hold" in text(boss)


def test_what_is_missing_is_said(boss: Client, redis: Any, publish: Any) -> None:
    publish(queue(oldest_age=90.0))
    kept(redis, 30, accepted=9, completed=5, discarded=40)
    html = text(boss).replace("\xa0", " ")
    assert "Not yet" in html and "is no recovery" in html
    assert "1 m 30 s; target 1 m 00 s" in html


def test_without_data_it_is_unknown(boss: Client, publish: Any) -> None:
    publish(queue())
    html = text(boss).replace("\xa0", " ")
    assert "not enough data of the last minutes" in html and "Yes: all" not in html


@pytest.mark.django_db
def test_a_queue_that_nobody_knows_has_no_verdict(boss: Client, publish: Any) -> None:
    publish(queue())
    assert "Has it recovered?" not in text(boss, "nope")
