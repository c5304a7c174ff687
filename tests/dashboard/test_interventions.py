"""Who changed what, from what to what."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queueops.models import Intervention


@pytest.fixture
def rows(boss: Client, redis: Any) -> None:
    for n in range(3):
        Intervention.objects.create(
            at=timezone.now(), actor="ann" if n else "bob", verb="limit" if n else "pause", target=f"semaphore:s3-{n}",
            reason="spare <b>the disk</b>", state="in_force" if n == 2 else "done", before={"limit": 4, "token": None},
            after={"limit": 2, "password": "hunter2=x"}, ends=timezone.now(), ended_at=timezone.now(), ended_by="clock",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 3),
        ({"verb": "limit"}, 2),
        ({"actor": "bob"}, 1),
        ({"state": "in_force"}, 1),
        ({"q": "S3-1"}, 1),
        ({"verb": "nothing"}, 0),
        ({"target": "s3-2"}, 1),
        ({"span": "15m"}, 3),
        ({"to": "2020-01-01T00:00:00Z"}, 0),
        ({"from": "2020-01-01T00:00:00Z", "actor": "ann"}, 2),
    ],
)
def test_filters(boss: Client, rows: None, query: dict[str, str], count: int) -> None:
    answer = boss.get("/interventions/", query)
    assert len(answer.context["found"].rows) == count
    assert count or "Nothing matches" in answer.content.decode()


def test_before_and_after_stand_side_by_side(boss: Client, rows: None) -> None:
    answer = boss.get("/interventions/", {"state": "in_force"})
    (row,) = answer.context["found"].rows
    assert [(c.name, c.before, c.after) for c in row.changes] == [("limit", "4", "2"), ("password", "", "hunter2=x")]
    page = answer.content.decode()
    assert "hunter2" not in page, "a secret by its name"
    assert "Before and after" in page and "<b>the disk" not in page and "until" in page


def test_a_row_whose_facts_are_no_dict_is_shown(boss: Client, redis: Any) -> None:
    Intervention.objects.create(at=timezone.now(), actor="a", verb="x", target="t", reason="r", before=[1], after="odd")
    assert boss.get("/interventions/").status_code == 200
