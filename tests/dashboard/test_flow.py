"""The flow page: each function in one window, each queue as their sum."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from dashboard.selectors import remembered
from queueops.conf import conf
from queueops.rdb.keys import SEP
from tests.dashboard.conftest import HOSTILE, Counting, queue_row

FIELDS = {
    "accepted": 6,
    "replayed": 1,
    "completed": 5,
    "failed_attempt": 2,
    "retried": 1,
    "parked": 3,
    "w40": 5,
    "r28": 5,
}


def act(redis: Any, queue: str, name: str, minutes_ago: int = 0, **more: int) -> None:
    """Something a function did, as the doors count it."""
    now = redis.time()[0]
    start = now // 60 * 60 - minutes_ago * 60
    redis.zadd(conf.keys.static("functions"), {f"{queue}{SEP}{name}": start * 1_000_000}, gt=True)
    redis.hset(conf.keys.of("minute", f"{start}{SEP}{queue}{SEP}{name}"), mapping={**FIELDS, **more})


def test_functions_and_their_sum(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"))
    act(redis, "default", "shop.jobs.mail")
    act(redis, "default", "shop.jobs.print", accepted=60)
    act(redis, "default", "shop.jobs.late", minutes_ago=30)
    answer = boss.get("/flow/")
    (group,) = answer.context["functions"].groups
    assert [line.name for line in group.lines] == ["shop.jobs.print", "shop.jobs.mail"]
    assert (group.whole.arrived, group.whole.completed, group.whole.parked) == (68, 10, 6)
    line = group.lines[1]
    assert (line.arrived, line.failed_attempts, line.retried) == (7, 2, 1)
    assert line.waited[0] == pytest.approx(2**10.125 / 1000, rel=0.01) and line.ran[1] < 0.2
    hour = boss.get("/flow/?minutes=60").context["functions"]
    assert hour.matching == 3 and hour.minutes == 60
    assert boss.get("/flow/?minutes=7").context["functions"].minutes == 10
    page = answer.content.decode()
    assert "last 10 minutes" in page and "mean of the last 5 whole minutes" in page


def test_search_and_one_queue(boss: Client, redis: Any, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"), queue_row("high"))
    act(redis, "default", "shop.jobs.mail")
    act(redis, "high", "shop.jobs.mail")
    assert boss.get("/flow/?queue=high").context["functions"].matching == 1
    found = boss.get("/flow/?function=MAI").context["functions"]
    assert found.matching == 2 and all(group.whole is None for group in found.groups), "a part is no sum"
    assert "Nothing matches" in boss.get("/flow/?function=zzz").content.decode()


@pytest.mark.parametrize("name", HOSTILE)
def test_c32_names_are_text(boss: Client, redis: Any, publish: Callable[..., Any], name: str) -> None:
    publish(queue_row(name))
    act(redis, name, f"app.{name}")
    page = boss.get("/flow/").content.decode()
    assert "<img" not in page and "'onmouseover" not in page and "\u202e" not in page


@pytest.mark.parametrize("count", [10, 10_000])
def test_c33_round_trips_and_rows_at_any_size(
    boss: Client, redis: Any, counting: Counting, publish: Callable[..., Any], count: int
) -> None:
    publish(queue_row("default"))
    now = int(time.time())
    redis.zadd(conf.keys.static("functions"), {f"default{SEP}f{n}": (now + 3600) * 1_000_000 + n for n in range(count)})
    boss.get("/flow/")
    remembered.forget()
    counting.trips = 0
    answer = boss.get("/flow/?minutes=60")
    assert counting.trips == 1, "beside the shared snapshot"
    assert answer.context["functions"].shown <= 50
    counting.trips = 0
    boss.get("/flow/?minutes=60")
    assert counting.trips == 0, "viewers share one reading"


def test_nothing_yet(boss: Client, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"))
    assert "No function was active" in boss.get("/flow/").content.decode()
