"""The changelog page: filters, time, downloads."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from dashboard.selectors import changelog
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
        {
            "e": "queue.paused",
            "q": FORMULA,
            "f": "shop.jobs.mail",
            "c": "L:book\x1f42",
            "by": "ann",
            "why": "url amqp://u:hunter2@h\n<b>",
        },
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
        ({"function": "mail"}, [""]),
        ({"function": "shop.jobs.mail"}, [""]),
        ({"function": "ail"}, []),
        ({"about": "BOOK 42"}, [""]),
        ({"about": "42 book"}, []),
        ({"job": "j3"}, ["j3"]),
        ({"job": "j"}, []),
        ({"queue": "default", "worker": "w0"}, ["j4", "j2", "j0"]),
        ({"queue": "", "job": "j1"}, ["j1"]),
        ({"queue": "", "empty": "1"}, []),
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


def test_a_job_is_found_by_what_pages_show_of_its_id(boss: Client, redis: Any) -> None:
    redis.xadd(K.static("log"), {"e": "job.started", "job": "0123456789abcdef0123456789abcdef", "w": "hosthost.7.abc"})
    assert len(jobs(boss.get("/changelog/?job=01234567"))) == len(jobs(boss.get("/changelog/?worker=hosthost.7"))) == 1


def test_a_time_that_is_none_is_told(boss: Client, log: Any) -> None:
    page = boss.get("/changelog/", {"from": "<b>yesterday"}).content.decode()
    assert "is no time" in page and "<b>yesterday" not in page
    shown = boss.get("/changelog/", {"to": "2023-11-14T23:13:20+01:00"}).context["times"]
    assert shown.last == "2023-11-14T22:13:20" and not shown.wrong


def test_the_form_shows_what_is_filtered(boss: Client, log: Any, publish: Any) -> None:
    page = boss.get("/changelog/", {"function": "'\"><img src=x>", "queue": "gone", "about": "k"}).content.decode()
    assert "<img src=x" not in page and '<option value="gone" selected>' in page and 'name="about" value="k"' in page


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_c33_a_download_has_a_bound(boss: Client, redis: Any, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(changelog, "CHUNK", 10)
    monkeypatch.setattr(changelog, "EXPORTED", 30)
    for n in range(50):
        redis.xadd(K.static("log"), {"e": "job.started", "job": f"j{n}", "why": '{"user": {"password": "hunter2"}}'})
    whole = b"".join(boss.get(f"/changelog/export.{kind}").streaming_content).decode()  # type: ignore[arg-type]
    assert len(whole.splitlines()) == (31 if kind == "csv" else 30) and "hunter2" not in whole


def test_who_may_not_see_gets_no_download(roles: Any, log: Any) -> None:
    client = Client()
    assert client.get("/changelog/export.csv").status_code == 302
    client.force_login(roles["nobody"])
    assert client.get("/changelog/export.csv").status_code == 403
    client.force_login(roles["viewer"])
    assert client.post("/changelog/export.csv").status_code == 405
    assert client.get("/changelog/export.csv").status_code == 200
