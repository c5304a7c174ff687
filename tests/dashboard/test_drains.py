"""The estimate in words: with its interval and basis, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.dashboard.conftest import queue_row


def row(waiting: int, inflow: float, completed: float, minutes: int = 15, **more: Any) -> dict[str, Any]:
    spark = {"in": [None] * (60 - minutes) + [inflow] * minutes, "out": [None] * (60 - minutes) + [completed] * minutes}
    made = queue_row("q", **{"oldest_age": 300.0, "max_age": 60.0, **more})
    return {**made, "open": {**dict.fromkeys(made["open"], 0), "queued": waiting}, "spark": {**spark, "end": 0}}


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (row(600, 100, 160), ("about 10 min", "10 min to 10 min (80 %), from 15 min")),
        (row(600, 720, 600), ("Will not clear", "grows by 120/min")),
        (row(600, 5, 0), ("Will not clear", "nothing completes")),
        (row(600, 100, 101), ("Not getting shorter",)),
        (row(600, 100, 160, minutes=2), ("No estimate yet", "too few minutes of data")),
        (row(9_000_000, 100, 160), ("Over 30 days", "shrinks by 60/min")),
        (row(0, 1, 1), ("Nothing waits",)),
        (row(3, 100, 101, oldest_age=1.0), ("Keeping up",)),
    ],
)
def test_the_estimate_of_a_queue(boss: Client, publish: Any, queue: Any, words: tuple[str, ...]) -> None:
    publish(queue)
    html = boss.get("/").content.decode()
    for text in words:
        assert text in html


def test_no_estimate_while_it_is_paused(boss: Client, publish: Any) -> None:
    banner = {"kind": "pause", "target": "q:q", "until": 0, "by": "ann", "reason": "r"}
    publish(row(600, 100, 160, paused=banner), banner=[banner])
    assert "no estimate while paused" in boss.get("/").content.decode()
