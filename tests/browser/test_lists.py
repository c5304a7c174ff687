"""Lists with the newest first in a real browser: nothing moves by itself; times are the viewer's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from queueops.conf import conf
from queueops.models import Intervention, QuarantinedJob
from tests.dashboard.conftest import queue_row

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
ROWS = "tbody[data-log] > tr"


def keep(name: str, **more: Any) -> None:
    QuarantinedJob.objects.create(
        **{
            "job_id": name,
            "queue": "default",
            "function": "app.f",
            "reason": "r",
            "quarantined_at": timezone.now(),
            **more,
        }
    )


def places(page: Any) -> list[tuple[str, float]]:
    """Each row that is shown with its place in the part of the page that is refreshed."""
    found: list[tuple[str, float]] = page.evaluate(
        "const top = document.getElementById('live').getBoundingClientRect().top;"
        f"[...document.querySelectorAll('{ROWS}')].map((row) => [row.id, row.getBoundingClientRect().top - top])"
    )
    return found


def test_c34_new_rows_wait_and_the_others_stay_and_stay_current(open_page: Open, publish: Any, redis: Any) -> None:
    for n in range(3):
        Intervention.objects.create(
            at=timezone.now(), actor="ann", verb="pause", target=f"t{n}", reason="r", state="applying"
        )
    publish(queue_row("default"))
    page = open_page("/interventions/")
    before = places(page)
    Intervention.objects.filter(target="t1").update(state="failed", error="no such thing")
    for n in range(2):
        Intervention.objects.create(at=timezone.now(), actor="bob", verb="limit", target=f"new{n}", reason="r")
    page.locator("#newrows:visible", has_text="Load 2 new").wait_for()
    assert places(page)[0] == before[0] and [row for row, _ in places(page)] == [row for row, _ in before]
    page.locator(ROWS, has_text="no such thing").wait_for()  # what was there is kept current
    page.locator("#newrows").click()
    page.locator(ROWS, has_text="new1").wait_for()
    assert page.locator(ROWS).count() == 5 and not page.locator("#newrows:visible").count()


def test_a_full_page_keeps_the_rows_that_were_pushed_off(open_page: Open, publish: Any, redis: Any) -> None:
    pipe = redis.pipeline()
    for n in range(150):
        pipe.xadd(conf.keys.static("log"), {"e": "job.started", "job": f"j{n}"})
    pipe.execute()
    publish(queue_row("default"))
    page = open_page("/changelog/")
    before = places(page)
    for n in range(12):
        redis.xadd(conf.keys.static("log"), {"e": "job.completed", "job": f"k{n}"})
    page.locator("#newrows:visible", has_text="Load 12 new").wait_for()
    assert places(page) == before and len(before) == 100
    for n in range(100):
        redis.xadd(conf.keys.static("log"), {"e": "job.completed", "job": f"m{n}"})
    page.locator("#newrows:visible", has_text="Load 100+ new").wait_for()
    assert places(page) == before
    page.locator("#newrows").click()
    page.locator(ROWS, has_text="m99").wait_for()
    assert page.locator(ROWS).count() == 100


def test_quarantined_jobs_that_left_go_and_new_ones_wait(open_page: Open, publish: Any, redis: Any) -> None:
    for name in ("one", "two", "three"):
        keep(name)
    publish(queue_row("default"))
    page = open_page("/quarantine/")
    page.get_by_text("Preview").first.click()
    keep("four")
    page.locator("#newrows:visible", has_text="Load 1 new").wait_for()
    QuarantinedJob.objects.filter(job_id="two").update(state="replayed")
    page.locator(ROWS, has_text="two").wait_for(state="detached")
    assert page.locator(ROWS).count() == 2 and page.locator("details[open] pre").first.is_visible()


def test_times_are_typed_in_the_viewers_zone(open_page: Open, publish: Any, redis: Any) -> None:
    for n in range(3):
        redis.xadd(
            conf.keys.static("log"), {"e": "job.started", "job": f"j{n}"}, id=f"{1_700_000_000_000 + n * 60_000}-0"
        )
    publish(queue_row("default"))
    page = open_page("/changelog/?q=j", timezone_id="Asia/Tokyo")
    assert page.locator("#t-from").is_visible()
    page.locator("#t-from").fill("2023-11-15T07:14:00")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**/changelog/?q=j&from=2023-11-14T22%3A14%3A00Z")
    assert [row.split("\t")[3] for row in page.locator(ROWS).all_inner_texts()] == ["j2", "j1"]
    assert page.locator("#t-from").input_value().startswith("2023-11-15T07:14")
    redis.xadd(conf.keys.static("log"), {"e": "job.started", "job": "j9"})
    page.locator("#newrows:visible", has_text="Load 1 new").wait_for()  # a filled field holds no refresh
    assert page.locator("#t-from").input_value().startswith("2023-11-15T07:14")
