"""The backlog page: where open work is, what is held, what the parked jobs wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from dashboard.selectors import remembered
from queueops.conf import conf
from queueops.rdb.keys import SEP
from tests.dashboard.conftest import HOSTILE, Counting, queue_row


def line(redis: Any, instance: str, count: int) -> None:
    redis.zadd(conf.keys.static("instances"), {instance: 1})
    redis.zadd(conf.keys.of("line", instance), {f"{instance}-{n}": n for n in range(1, count + 1)})


def test_open_and_held_by_place(boss: Client, publish: Callable[..., Any]) -> None:
    places = {"queued": 3, "parked": 2, "scheduled": 5, "deferred": 1, "running": 4, "intermediate": 1}
    publish(queue_row("small", open={"queued": 1}), queue_row("default", open=places))
    answer = boss.get("/backlog/")
    assert [(row.name, n) for row, n, _ in answer.context["table"]] == [("default", 16), ("small", 1)]
    assert dict(answer.context["sums"]) == {**places, "queued": 4}, "plain RQ's own place has a column when it is used"
    assert (answer.context["failed"], answer.context["quarantined"]) == (2, 4)


def test_what_the_parked_jobs_wait_for(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"))
    for n in range(4):
        line(redis, f"L:book{SEP}{n}", 2)
    line(redis, f"R:mail{SEP}", 9)
    redis.zadd(conf.keys.static("instances"), {f"S:idle{SEP}": 1})
    found = boss.get("/backlog/").context["parked"]
    assert [(row.kind, row.name, row.waiting, row.keys) for _, row in found.rows] == [
        ("rate", "mail", 9, 1),
        ("lock", "book", 8, 4),
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_c32_names_are_text(boss: Client, redis: Any, publish: Callable[..., Any], name: str) -> None:
    publish(queue_row(name))
    line(redis, f"L:{name}{SEP}{name}", 1)
    page = boss.get("/backlog/").content.decode()
    assert "<img" not in page and "'onmouseover" not in page and "\u202e" not in page


@pytest.mark.parametrize("count", [10, 10_000])
def test_c33_round_trips_at_any_size(
    boss: Client, redis: Any, counting: Counting, publish: Callable[..., Any], count: int
) -> None:
    publish(queue_row("default"))
    redis.zadd(conf.keys.static("instances"), {f"L:c{n % 40}{SEP}{n}": n for n in range(count)})
    pipe = redis.pipeline()
    for n in range(count):
        pipe.zadd(conf.keys.of("line", f"L:c{n % 40}{SEP}{n}"), {"j": 1})
    pipe.execute()
    boss.get("/backlog/")
    remembered.forget()
    counting.trips = 0
    answer = boss.get("/backlog/")
    assert counting.trips == 1, "beside the shared snapshot"
    parked = answer.context["parked"]
    assert len(parked.rows) <= 12 and parked.partial is (count > 2000)
    assert parked.partial is ("that changed last were looked at" in answer.content.decode())
