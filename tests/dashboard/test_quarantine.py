"""The quarantine page: facets and what a filter does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.selectors import quarantine
from queueops.models import Batch, QuarantinedJob


def keep(n: int, **more: Any) -> QuarantinedJob:
    made: QuarantinedJob = QuarantinedJob.objects.create(
        **{
            "job_id": f"j{n}", "queue": "default", "function": "app.f", "reason": "failed after 3 attempts",
            "fingerprint": "aa11", "error": "Traceback\n  x\nValueError: no such book",
            "quarantined_at": timezone.now(),
            **more,
        }
    )  # fmt: skip
    return made


@pytest.fixture
def kept(boss: Client, redis: Any) -> None:
    now = timezone.now()
    for n, (fingerprint, age) in enumerate((("aa11", 0), ("aa11", 2), ("bb22", 30), ("", 24 * 8))):
        keep(n, fingerprint=fingerprint, quarantined_at=now - timedelta(hours=age))


def facets(answer: Any) -> dict[str, dict[str, int]]:
    return {name: {f.value: f.count for f in found} for name, found in answer.context["found"].facets}


def test_facets_by_error_and_age(boss: Client, kept: None) -> None:
    answer = boss.get("/quarantine/")
    assert facets(answer)["fingerprint"] == {"aa11": 2, "bb22": 1}
    assert facets(answer)["age"] == {"1h": 1, "1d": 1, "7d": 1, "older": 1}
    assert "ValueError: no such book" in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ({"fingerprint": "aa11"}, ["j0", "j1"]),
        ({"age": "1d"}, ["j1"]),
        ({"age": "older"}, ["j3"]),
        ({"age": "nonsense"}, ["j0", "j1", "j2", "j3"]),
        ({"age": "1h", "fingerprint": "bb22"}, []),
    ],
)
def test_filters(boss: Client, kept: None, query: dict[str, str], jobs: list[str]) -> None:
    answer = boss.get("/quarantine/", query)
    assert [row.job for row in answer.context["found"].rows] == jobs


def test_all_of_one_error_are_replayed(boss: Client, kept: None) -> None:
    data = {"all": "1", "filter_fingerprint": "aa11", "reason": "the book is there now", "rate": "5"}
    boss.post("/do/replay/", data)
    batch = Batch.objects.get()
    assert sorted(batch.items.values_list("job_id", flat=True)) == ["j0", "j1"] and batch.rate == 5


def test_a_preview_says_what_it_was_and_that_it_ran(boss: Client, redis: Any) -> None:
    error = "Traceback\n  <script>alert(1)</script>\nValueError: password=hunter2"
    keep(1, attempts=3, replays=1, description="app.f(token='sesame', n=1)", error=error)
    keep(2, attempts=0)
    page = boss.get("/quarantine/").content.decode()
    assert "It ran 3 times: side effects may exist." in page and "Replayed 1 time before." in page
    assert page.count("It never ran") == 1
    assert "hunter2" not in page and "sesame" not in page and "<script>alert" not in page


@pytest.mark.parametrize("count", [10, 10_000])
def test_c33_few_queries_at_any_size(boss: Client, redis: Any, count: int) -> None:
    now = timezone.now()
    fields = {"queue": "default", "function": "app.f", "reason": "r", "error": "E: x", "quarantined_at": now}
    QuarantinedJob.objects.bulk_create(
        QuarantinedJob(job_id=f"j{n}", fingerprint=f"f{n % 7}", **fields) for n in range(count)
    )
    boss.get("/quarantine/")
    with CaptureQueriesContext(connection) as queries:
        assert boss.get("/quarantine/?fingerprint=f1").status_code == 200
    assert len(queries) <= 13


def test_facets_of_many_are_counted_among_the_newest(boss: Client, kept: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "LOOKED", 3)
    answer = boss.get("/quarantine/")
    assert "counted among the newest 3" in answer.content.decode()
    assert facets(answer)["age"] == {"1h": 1, "1d": 1, "7d": 1, "older": 0}, "it can be chosen all the same"
    found = boss.get("/quarantine/", {"age": "older"}).context["found"]
    assert (found.matching, found.total, [row.job for row in found.rows]) == (1, 4, ["j3"])


def test_each_facet_is_counted_under_the_other_filters(boss: Client, kept: None) -> None:
    keep(9, fingerprint="aa11", queue="mail")
    answer = boss.get("/quarantine/", {"queue": "default", "fingerprint": "aa11"})
    assert answer.context["found"].matching == 2
    assert facets(answer) == {
        "reason": {"failed after 3 attempts": 2}, "fingerprint": {"aa11": 2, "bb22": 1}, "function": {"app.f": 2},
        "queue": {"default": 2, "mail": 1}, "age": {"1h": 1, "1d": 1},
    }  # fmt: skip
