"""Many jobs at once: ticked ones, and all that match, on every list that offers it."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.models import Batch, QuarantinedJob
from queueops.operations.recover import recover
from tests.browser.hands import confirm, told
from tests.browser.test_browser import Open
from tests.browser.world import World

pytestmark = pytest.mark.browser


def tick_two(page: Any) -> list[str]:
    boxes = page.locator("[data-select]")
    for n in range(2):
        boxes.nth(n).check()
    page.get_by_text("2 selected").wait_for()
    return [str(boxes.nth(n).get_attribute("value")) for n in range(2)]


def choose(page: Any, button: str) -> None:
    page.locator(".bulk").get_by_role("button", name=button).click()


def test_failed_jobs_are_requeued(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=failed")
    chosen = tick_two(page)
    choose(page, "Requeue…")
    assert page.locator("#d-requeue h2").inner_text() == "Requeue 2 jobs"
    confirm(page, "requeue", "Requeue 2 jobs", "Requeued: 2.")
    assert world.doors.queued()[-2:] == chosen or set(world.doors.queued()[-2:]) == set(chosen)
    assert page.locator("[data-select]").count() == 1


def test_quarantined_jobs_are_replayed_from_the_list_of_jobs(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=quarantined")
    chosen = tick_two(page)
    choose(page, "Replay…")
    assert "hunter2" not in page.locator("#d-replay").inner_text()
    confirm(page, "replay", "Replay 2 jobs", "Replayed: 2.")
    assert QuarantinedJob.objects.filter(state="replayed", job_id__in=chosen).count() == 2


def test_queued_jobs_are_discarded(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=queued&queue=default")
    chosen = tick_two(page)
    choose(page, "Discard…")
    confirm(page, "discard", "Discard 2 jobs", "Discarded: 2.")
    assert not set(chosen) & set(world.doors.queued()) and len(world.doors.queued()) == 2


@pytest.mark.parametrize(
    ("where", "button", "dialog"),
    [
        ("/jobs/?state=failed&function=print", "Requeue", "requeue"),
        ("/jobs/?state=quarantined&error=ValueError", "Replay", "replay"),
        ("/jobs/?state=scheduled&text=order_id=1", "Run now", "run_now"),
        ("/jobs/?state=queued&queue=default", "Quarantine", "quarantine"),
        ("/quarantine/?queue=default", "Replay", "replay"),
    ],
)
def test_all_that_match_and_only_those(open_page: Open, world: World, where: str, button: str, dialog: str) -> None:
    page = open_page(where)
    shown = page.locator("[data-select]").count()
    page.locator("[data-select-all]").check()
    assert page.locator("[data-select]:checked").count() == shown > 1
    choose(page, f"{button}…")
    page.locator(f"#d-{dialog}").get_by_label("Reason").fill("all of them")
    page.locator(f"#d-{dialog} [type=submit]").click()
    page.locator(".toast").wait_for()
    recover(batch_seconds=20)
    batch = Batch.objects.get()
    assert (batch.state, batch.done, batch.total) == ("done", shown, shown)
    world.tell()
    page.goto(where)
    assert page.locator("[data-select]").count() == 0


def test_what_cannot_be_done_is_counted_with_its_reason(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=queued&queue=default")
    gone, started = tick_two(page)
    assert world.start(worker="w-beta") in (gone, started)
    choose(page, "Quarantine…")
    page.locator("#d-quarantine").get_by_label("Reason").fill("too late for one")
    page.locator("#d-quarantine [type=submit]").click()
    told(page, "Quarantined: 1, 1 skipped (")


def test_shift_ticks_a_range_and_clear_unticks_it(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=scheduled")
    boxes = page.locator("[data-select]")
    boxes.nth(1).click()
    boxes.nth(5).click(modifiers=["Shift"])
    page.get_by_text("5 selected").wait_for()
    page.get_by_role("button", name="Clear").click()
    assert page.locator("[data-select]:checked").count() == 0
    assert page.get_by_role("button", name="Run now…").is_disabled()
