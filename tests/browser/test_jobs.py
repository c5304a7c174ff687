"""The lists of jobs in a real browser: ticking, previews, bulk work with progress and Stop, filters, both widths."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.mirror import rebuild
from queueops.models import Batch
from queueops.operations import Selection, batches, run_now
from queueops.operations.recover import recover
from queueops.rdb.client import default_server
from queueops.telemetry.job_pages import JobFilter
from tests.browser.test_browser import Open, Publish
from tests.dashboard.conftest import queue_row
from tests.scripts.kit import Doors, claim
from tests.support import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def doors(redis: Any, transactional_db: None, publish: Publish) -> Doors:
    rebuild(default_server())
    doors = Doors(redis)
    for n in range(60):
        doors.enqueue(job_id=f"due-{n:02d}", mode="schedule", due=str(4_000_000_000 + n),
                      mapping={"status": "scheduled", "description": f"app.f({n}, token='abc')"})  # fmt: skip
    publish(queue_row("default", open={"scheduled": 60}))
    return doors


def test_ticked_jobs_run_now(open_page: Open, doors: Doors) -> None:
    page = open_page("/jobs/?state=scheduled")
    button = page.get_by_role("button", name="Run now…")
    assert button.is_disabled()
    page.get_by_label("Select due-03").check()
    page.get_by_label("Select due-05").check()
    page.get_by_text("2 selected").wait_for()
    button.click()
    dialog = page.locator("#d-run_now")
    assert dialog.locator("h2").inner_text() == "Run now 2 jobs"
    assert "due-03" in dialog.locator("[data-preview]").inner_text() and "abc" not in dialog.inner_text()
    dialog.get_by_label("Reason").fill("sooner")
    dialog.get_by_role("button", name="Run now").click()
    page.get_by_text("Put on their queues: 2.").wait_for()
    assert doors.queued() == ["due-03", "due-05"]


def test_all_that_match_go_on_in_the_background_and_can_be_stopped(open_page: Open, doors: Doors) -> None:
    page = open_page("/jobs/?state=scheduled&text=app.f(1")
    page.locator("[data-select-all]").check()
    page.get_by_text("11 selected").wait_for()
    page.get_by_role("button", name="Quarantine…").click()
    dialog = page.locator("#d-quarantine")
    dialog.get_by_label("Pace").select_option("0.5")
    dialog.get_by_label("Reason").fill("wrong addresses")
    dialog.get_by_role("button", name="Quarantine").click()
    works = page.locator(".works")
    works.get_by_text("collecting").wait_for()
    recover(batch_seconds=1)
    page.goto("/interventions/")
    works.get_by_text("1 done + 0 skipped + 0 gone + 10 left = 11").wait_for()
    works.get_by_role("button", name="Stop…").click()
    dialog = page.locator("#d-stopbatch")
    dialog.get_by_label("Reason").fill("enough")
    dialog.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped: 1 were done").wait_for()
    assert Batch.objects.get().state == "stopped"


def test_progress_moves_without_a_reload(open_page: Open, doors: Doors) -> None:
    page = open_page("/jobs/?state=scheduled")
    page.evaluate("window.stayed = true")
    done = run_now(Selection(where=JobFilter("scheduled")), background=True, actor="ann", reason="because")
    page.locator(".works").get_by_text("collecting").wait_for()
    recover(batch_seconds=20)
    assert batches.result(done.batch).done == 60
    page.locator(".works").get_by_text("60 done + 0 skipped + 0 gone + 0 left = 60").wait_for()
    assert page.evaluate("window.stayed")


def test_a_filter_is_typed_in_peace_and_ends_up_in_the_address(open_page: Open, doors: Doors) -> None:
    page = open_page("/jobs/?state=scheduled")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Arguments contain").fill("app.f(42")
    page.locator("h1").click()
    # a refresh may come now: what is typed stays
    eventually(lambda: page.evaluate("document.querySelector('[name=text]').value") == "app.f(42")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**text=app.f%2842*")
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="due-42").click()
    page.get_by_text("Its time has not come").wait_for()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_every_list_and_a_job_fit(open_page: Open, doors: Doors, width: int, dark: bool) -> None:
    disk = claim("semaphore", "a-name-that-is-rather-long-for-a-narrow-screen")
    doors.enqueue(disk)
    doors.start()
    job = doors.enqueue(disk, function="shop.jobs.with_a_long_name.that_goes_on_and_on_and_on_and_on")
    doors.start()
    page = open_page("/jobs/", width=width, dark=dark)
    for path in ("?state=scheduled", "?state=parked", "?state=recurring&older=1m", "?q=app", f"{job}/"):
        page.goto(f"/jobs/{path}")
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
