"""Minutes and hours of every queue reach SQL once, are summed truly, and gaps stay gaps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queueops.models import Rollup
from queueops.monitor.duties import roll_up
from queueops.monitor.duty import Context
from queueops.operations import history as writer
from queueops.rdb.keys import SEP, Keys
from queueops.telemetry import minutes
from queueops.telemetry.history import Point, points

US = 1_000_000


@pytest.fixture
def now(context: Context, keys: Keys) -> int:
    """The start of the running minute; the counters count since two hours."""
    seconds = int(context.connection.time()[0])
    context.connection.set(keys.static("counting_since"), (seconds - 7200) * US)
    return seconds // 60 * 60


def count(context: Context, keys: Keys, start: int, queue: str, function: str, **fields: int) -> None:
    key = SEP.join((keys.of("minute", str(start)), queue, function))
    context.connection.hset(key, mapping={name: str(n) for name, n in fields.items()})
    context.connection.zadd(keys.static("functions"), {f"{queue}{SEP}{function}": (start + 59) * US})


def told(queue: str, since: int, until: int, **more: Any) -> list[Point | None]:
    return points("test", queue, since, until, **more)


def test_a_minute_is_written_with_its_functions(context: Context, keys: Keys, now: int) -> None:
    start = now - 120
    count(context, keys, start, "mail", "shop.send", accepted=5, completed=3, w40=2, wt=9_000, r8=3, rt=4_000)
    count(context, keys, start, "mail", "shop.bill", accepted=1, failed_attempt=2, retried=2)
    assert (roll_up.act(context) or {})["minutes"] >= 118
    (point,) = told("mail", start, start + 60)
    assert point and (point.inflow, point.completed, point.counts["retried"]) == (6, 3, 2)
    assert point.waited.total == 2 and point.ran.sum_us == 4_000
    (one,) = told("mail", start, start + 60, function="shop.bill")
    assert one and (one.inflow, one.completed, one.waited.total) == (1, 0, 0)


def test_each_minute_once(context: Context, keys: Keys, now: int) -> None:
    count(context, keys, now - 120, "mail", "shop.send", accepted=5)
    assert (roll_up.act(context) or {})["minutes"]
    rows = Rollup.objects.count()
    assert (roll_up.act(context) or {})["minutes"] <= 1  # a minute may end meanwhile
    assert Rollup.objects.count() <= rows + 1


def test_a_monitor_that_died_in_between_writes_the_minute_anew(context: Context, keys: Keys, now: int) -> None:
    count(context, keys, now - 120, "mail", "shop.send", accepted=5)
    roll_up.act(context)
    Rollup.objects.filter(queue="", start__gte=now - 120).delete()  # the row that is written last
    roll_up.act(context)
    (point,) = told("mail", now - 120, now - 60)
    assert point and point.inflow == 5


def test_what_was_not_counted_is_a_gap_and_an_idle_minute_is_zero(context: Context, keys: Keys, now: int) -> None:
    context.connection.set(keys.static("counting_since"), (now - 180) * US)
    roll_up.act(context)
    before, after = told("mail", now - 300, now - 180), told("mail", now - 180, now - 60)
    assert before == [None, None]
    # nobody looked at the backlog of minutes that are written later
    assert [point and point.inflow for point in after] == [0, 0]
    assert after[0] and after[0].waiting is None


def test_an_emptied_redis_ends_the_known_time(context: Context, keys: Keys, now: int) -> None:
    roll_up.act(context)
    Rollup.objects.filter(start__gte=now - 120).delete()
    context.connection.delete(keys.static("epoch"), keys.static("counting_since"))
    assert (roll_up.act(context) or {})["minutes"] == 0


def test_the_newest_minute_has_what_was_open(context: Context, keys: Keys, now: int) -> None:
    for n in range(3):
        context.connection.rpush(keys.of("rq_queue", "mail"), f"j{n}")
    context.connection.zadd(keys.static("queues"), {"mail": 1})
    roll_up.act(context)
    newest = Rollup.objects.filter(queue="mail").latest("start")
    assert (newest.gauges["open"], newest.gauges["waiting"]) == (3, 3)
    (idle,) = told("nothing-here", newest.start, newest.start + 60)
    assert idle and (idle.waiting, idle.oldest_age) == (0, None)


def test_all_queues_together(context: Context, keys: Keys, now: int) -> None:
    count(context, keys, now - 120, "mail", "shop.send", accepted=5, completed=3)
    count(context, keys, now - 120, "bills", "shop.bill", accepted=2)
    for queue in ("mail", "bills"):
        context.connection.rpush(keys.of("rq_queue", queue), "j")
        context.connection.zadd(keys.static("queues"), {queue: 1})
    roll_up.act(context)
    (point,) = told("", now - 120, now - 60, times=False)
    assert point and (point.inflow, point.completed) == (7, 3)
    newest = Rollup.objects.filter(queue="").latest("start")
    (point,) = told("", newest.start, newest.start + 60)
    assert point and point.waiting == 2


def test_hours_are_the_sum_of_their_minutes(context: Context, now: int) -> None:
    hour = now // 3600 * 3600 - 4 * 3600
    server = context.server
    for minute in range(0, 3600, 600):
        tally = minutes.Tally()
        for name, n in {"accepted": 10, "completed": 4, "w40": 4, "wt": 8}.items():
            tally.add(name, n)
        gauges = {"mail": {"open": minute, "waiting": minute, "held": 0, "oldest_age": None if minute else 7.5}}
        gauges[""] = gauges["mail"]
        writer._write(server, 60, hour + minute, {"mail": {"shop.send": tally}}, gauges)
    roll_up.act(context)
    (point,) = told("mail", hour, hour + 3600, width=3600)
    assert point and (point.inflow, point.completed, point.waited.total, point.waited.sum_us) == (60, 24, 24, 48)
    assert (point.waiting, point.oldest_age) == (3000, 7.5)
    everything = Rollup.objects.get(width=3600, start=hour, queue="").counts
    assert everything == {"accepted": 60, "completed": 24, "minutes": 6}


def test_hostile_names_and_numbers(context: Context, keys: Keys, now: int) -> None:
    name = "a/b \n<b>\u30ad\u30e5\u30fc"
    count(context, keys, now - 120, name, "f\u0000'\"", accepted=2)
    key = SEP.join((keys.of("minute", str(now - 120)), name, "g"))
    context.connection.hset(key, mapping={"accepted": "many", "completed": "-5", b"\xff": "1"})
    context.connection.zadd(keys.static("functions"), {f"{name}{SEP}g": now * US})
    roll_up.act(context)
    (point,) = told(name, now - 120, now - 60)
    assert point and (point.inflow, point.completed) == (2, 0)
    assert json.dumps(point.counts)
