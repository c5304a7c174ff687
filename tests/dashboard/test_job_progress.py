"""How far a job says it is, on its page, whatever stands in Redis."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors

BIG = "1" + "0" * 400


@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [
        ("5", "10", ' value="5" max="10"'),
        ("1.5", "3", ' value="1.5" max="3"'),
        ("1234567", "2000000", ' value="1234567" max="2000000"'),
        ("5", "null", ""),
        ("5", "0", ""),
        ("5", BIG, ""),
        ("5", "Infinity", ""),
        ("5", "NaN", ""),
        ("5", "-10", ""),
        ("5", '"10"', ""),
        (BIG, BIG + "0", None),
        ("1" + "0" * 4999, "1", None),
        ("Infinity", "10", None),
        ("NaN", "10", None),
        ("-5", "10", None),
        ("true", "10", None),
        ("[1]", "10", None),
    ],
)
def test_a_bar_only_of_what_can_be_shown(boss: Client, redis: Any, done: str, total: str, shown: str | None) -> None:
    doors = Doors(redis)
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    run(redis, "progress", job, token, f'{{"token": "{token}", "done": {done}, "total": {total}, "note": "<b>"}}')
    response = boss.get(f"/jobs/{job}/")
    assert response.status_code == 200
    bars = re.findall(r"<progress[^>]*?class=\"progress\"([^>]*?) aria-label", response.content.decode())
    assert bars == ([] if shown is None else [shown])
