"""The charts over time: their numbers, gaps, periods, marks, tables and files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.selectors.history import PERIODS
from queueops.models import Intervention
from tests.dashboard.conftest import queue_row
from tests.dashboard.rollups import FUNCTION, rolled_up


@pytest.fixture
def minute(redis: Any, publish: Callable[..., Any]) -> int:
    """The start of the running minute."""
    publish(queue_row("default"))
    return int(redis.time()[0]) // 60 * 60


def chart(answer: Any, name: str) -> Any:
    (found,) = [chart for chart in answer.context["charts"] if chart.name == name]
    return found


def test_minutes_of_one_queue(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 1800, 29, range(5, 8))
    answer = boss.get("/flow/?queue=default")
    assert [c.name for c in answer.context["charts"]] == ["pace", "became", "waiting", "oldest", "times"]
    pace = chart(answer, "pace")
    inflow, completed = (track.values for track in pace.tracks)
    assert pace.step == 60 and inflow.count(6) == completed.count(4) == 26
    at = (minute - 1800 - pace.start) // 60
    assert inflow[at : at + 9] == (6, 6, 6, 6, 6, None, None, None, 6)
    assert all(value is None for value in inflow[:at]), "what nobody counted is a gap"
    assert chart(answer, "waiting").tracks[0].last == 28
    assert chart(answer, "oldest").limit == answer.context["flow"].chosen.max_age
    waited, ran = chart(answer, "times").tracks
    assert 1 < waited.last < 1.3 and 0.1 < ran.last < 0.2
    page = answer.content.decode()
    assert "no data" in page and "All of them as CSV" in page


def test_hours_are_given_per_minute(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 48 * 3600, 46, width=3600, accepted=600, completed=60)
    answer = boss.get("/queues/?name=default&period=7d&percentile=50")
    pace = chart(answer, "pace")
    assert pace.step == 3600 and pace.tracks[0].last == 10 and pace.tracks[1].last == 1
    assert "mean of each hour" in answer.content.decode()
    assert "median" in chart(answer, "times").title


def test_all_queues_have_no_times(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 600, 8)
    answer = boss.get("/flow/")
    assert [c.name for c in answer.context["charts"]] == ["pace", "became", "waiting", "oldest"]
    assert chart(answer, "pace").tracks[0].last == 6
    assert chart(boss.get("/"), "pace").length > 300, "six hours"


@pytest.mark.parametrize("period", [*PERIODS, "", "1y", "<b>"])
def test_no_period_has_more_points_than_can_be_seen_or_more_queries(boss: Client, minute: int, period: str) -> None:
    rolled_up("default", minute - 3 * 86400, 1500)
    rolled_up("default", minute - 91 * 86400, 2190, width=3600)
    boss.get("/flow/")
    with CaptureQueriesContext(connection) as queries:
        answer = boss.get("/flow/", {"queue": "default", "period": period})
    assert len([q for q in queries if "rollup" in q["sql"]]) == 2
    assert 0 < max(c.length for c in answer.context["charts"]) <= 2200
    assert len(answer.content) < 700_000


def test_a_function(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 600, 8)
    answer = boss.get("/flow/function/", {"queue": "default", "name": FUNCTION})
    assert [c.name for c in answer.context["charts"]] == ["pace", "became", "times"]
    assert chart(answer, "pace").tracks[1].last == 4
    nothing = boss.get("/flow/function/", {"queue": "default", "name": "<img src=x>"})
    assert nothing.status_code == 404
    assert "was not seen on this queue" in nothing.content.decode()
    assert "<img src=x>" not in nothing.content.decode()


def test_what_was_done_meanwhile(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 600, 8)
    at = datetime.fromtimestamp(minute - 330, UTC)
    for verb, target in (("pause", "queue default"), ("pause", "queue other"), ("requeue", "queue default")):
        Intervention.objects.create(at=at, actor="ann", verb=verb, target=target, reason="<script>air</script>")
    answer = boss.get("/flow/?queue=default")
    pace = chart(answer, "pace")
    assert [(m.verb, m.target) for m in pace.marks] == [("pause", "queue default")]
    assert [len(row.marks) for row in pace.rows if row.at == (minute - 360) * 1_000_000] == [1]
    page = answer.content.decode()
    assert "&lt;script&gt;air" in page and "<script>air" not in page
    assert {m.target for m in chart(boss.get("/flow/"), "pace").marks} == {"queue default", "queue other"}


def test_the_figure_carries_what_is_drawn(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 600, 8)
    made = chart(boss.get("/flow/?queue=default"), "became")
    data = json.loads(made.data(lambda mark: mark.verb))
    assert data["stacked"] and data["start"] == made.start and len(data["values"]) == len(made.tracks) == 6


def test_a_file_of_all_points(boss: Client, minute: int) -> None:
    rolled_up("default", minute - 7200, 118, range(60, 63))
    at = datetime.fromtimestamp(minute - 3600 - 90, UTC)
    Intervention.objects.create(at=at, actor="=cmd()", verb="=1+1", target="queue default", reason="password=hunter2")
    answer = boss.get("/flow/history.csv", {"queue": "default", "period": "6h", "chart": "waiting"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="waiting.csv"'
    head, *rows = csv.reader(answer.content.decode().splitlines())
    assert head == ["time", "waiting", "meanwhile"]
    assert len(rows) == 358 or len(rows) == 359 or len(rows) == 360
    known = [row for row in rows if row[1]]
    assert len(known) == 115 and known[-1][1] == "117"
    (marked,) = [row for row in rows if row[2]]
    assert marked[2].startswith("'=1+1") and "hunter2" not in marked[2]


def test_a_file_needs_the_right_to_see(client: Client, minute: int) -> None:
    assert client.get("/flow/history.csv").status_code == 302
