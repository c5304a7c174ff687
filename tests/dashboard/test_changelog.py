"""The changelog page: filters, time, downloads."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from tests.scripts.kit import K

FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def log(boss: Client, redis: Any) -> Any:
    """Five entries, a minute apart."""
    for n in range(5):
        fields = {"e": "job.started", "job": f"j{n}", "w": f"w{n % 2}", "q": "default"}
        redis.xadd(K.static("log"), fields, id=f"{1_700_000_000_000 + n * 60_000}-0")
    redis.xadd(
        K.static("log"),
        {"e": "queue.paused", "q": FORMULA, "by": "ann", "why": "url amqp://u:hunter2@h\n<b>"},
        id="1700000300000-0",
    )
    return redis


def jobs(answer: Any) -> list[str]:
    return [entry.job for entry in answer.context["found"].entries]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"worker": "w1"}, ["j3", "j1"]),
        ({"by": "ann"}, [""]),
        ({"from": "2023-11-14T22:15:20Z", "to": "2023-11-14T22:16:20"}, ["j3", "j2"]),
        ({"to": "2023-11-14T22:13:20+00:00"}, ["j0"]),
        ({"from": "no time", "to": "9" * 400}, ["", "j4", "j3", "j2", "j1", "j0"]),
        ({"span": "15m"}, []),
    ],
)
def test_filters(boss: Client, log: Any, query: dict[str, str], found: list[str]) -> None:
    assert jobs(boss.get("/changelog/", query)) == found


def test_a_download_holds_what_the_page_shows_and_harms_no_spreadsheet(boss: Client, log: Any) -> None:
    answer = boss.get("/changelog/export.csv", {"worker": "w1"})
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[arg-type]
    assert [row["job"] for row in rows] == ["j3", "j1"]
    assert answer["Content-Type"].startswith("text/csv") and "attachment" in answer["Content-Disposition"]
    whole = b"".join(boss.get("/changelog/export.csv").streaming_content).decode()  # type: ignore[arg-type]
    assert "hunter2" not in whole and f"'{FORMULA}" in whole
    first = next(iter(csv.DictReader(io.StringIO(whole))))
    assert datetime.fromisoformat(first["time"]) == datetime.fromtimestamp(1_700_000_300, UTC)
    lines = b"".join(boss.get("/changelog/export.jsonl").streaming_content).decode().splitlines()  # type: ignore[arg-type]
    assert len(lines) == 6 and json.loads(lines[0])["queue"] == FORMULA
    assert boss.get("/changelog/export.xml").status_code == 404


def test_a_long_one_is_read_in_chunks(boss: Client, redis: Any) -> None:
    pipe = redis.pipeline()
    for n in range(6000):
        pipe.xadd(K.static("log"), {"e": "job.started", "job": f"j{n}"})
    pipe.execute()
    lines = b"".join(boss.get("/changelog/export.jsonl").streaming_content).splitlines()  # type: ignore[arg-type]
    assert [json.loads(line)["job"] for line in lines] == [f"j{n}" for n in reversed(range(6000))]


def test_an_empty_one_and_one_that_is_off(boss: Client, redis: Any, settings: Any) -> None:
    assert "Nothing happened yet" in boss.get("/changelog/").content.decode()
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CHANGELOG_LENGTH": 0}
    assert "The changelog is off" in boss.get("/changelog/").content.decode()
    assert list(boss.get("/changelog/export.jsonl").streaming_content) == []  # type: ignore[call-overload]
