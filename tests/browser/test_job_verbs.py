"""Replay, requeue, run now, quarantine, discard: from the page of one job."""

from __future__ import annotations

import pytest

from queueops.models import Intervention
from tests.browser.hands import confirm, press
from tests.browser.test_browser import Open
from tests.browser.world import World
from tests.scripts.kit import K

pytestmark = pytest.mark.browser


def test_a_quarantined_job_is_replayed_and_leads_to_its_copy(open_page: Open, world: World) -> None:
    page = open_page(f"/jobs/{world.quarantined}/")
    press(page, "Replay…")
    confirm(page, "one", "Replay", "Replayed: 1.")
    copy = world.doors.field(world.quarantined, "qo_replayed_as") or world.doors.queued()[-1]
    page.get_by_role("link", name=copy[:8]).first.click()
    page.wait_for_url(f"**/jobs/{copy}/")
    page.locator("dt", has_text="Replay of").wait_for()


def test_a_failed_job_is_requeued(open_page: Open, world: World) -> None:
    page = open_page(f"/jobs/{world.failed}/")
    press(page, "Requeue…")
    confirm(page, "one", "Requeue", "Requeued: 1.")
    assert world.failed in world.doors.queued()
    page.locator(".chip", has_text="Queued").or_(page.locator(".chip", has_text="queued")).wait_for()


def test_a_scheduled_job_runs_now(open_page: Open, world: World) -> None:
    page = open_page(f"/jobs/{world.scheduled}/")
    press(page, "Run now…")
    confirm(page, "one", "Run now", "Put on their queues: 1.")
    assert world.scheduled in world.doors.queued()


def test_a_queued_job_is_quarantined_and_then_discarded(open_page: Open, world: World) -> None:
    page = open_page(f"/jobs/{world.queued}/")
    press(page, "Quarantine…")
    confirm(page, "one", "Quarantine", "Quarantined: 1.")
    assert world.queued not in world.doors.queued() and world.doors.field(world.queued, "qo_quarantined")
    press(page, "Discard…")
    confirm(page, "one", "Discard", "Discarded: 1.")
    assert not world.redis.exists(K.of("rq_job", world.queued))
    page.get_by_role("heading", name="No server has a job of this id now").wait_for()
    verbs = Intervention.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["quarantine", "discard"]


def test_a_parked_job_is_cancelled(open_page: Open, world: World) -> None:
    page = open_page(f"/jobs/{world.parked}/")
    press(page, "Discard…")
    confirm(page, "one", "Discard", "Discarded: 1.")
    assert len(world.doors.line("S:report-disk\x1f")) == 2


def test_an_entry_of_cron_runs_now(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=recurring")
    press(page, "Run now…", "nightly")
    confirm(page, "cron", "Run now", "is on its queue as")
    assert Intervention.objects.get().target == "cron shop.jobs.nightly"
