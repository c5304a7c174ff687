"""Who may only look sees every button, and each says why it is not theirs."""

from __future__ import annotations

import pytest

from queueops.models import Intervention
from tests.browser.test_browser import Open
from tests.browser.world import World

pytestmark = pytest.mark.browser

PLACES = {
    "/queues/": "operate",
    "/queues/?name=default": "operate",
    "/workers/": "operate",
    "/locks/?control=S:report-disk": "operate",
    "/locks/?control=S:report-disk&key=": "release",
    "/jobs/?state=scheduled": "replay",
    "/jobs/?state=recurring": "replay",
    "/jobs/{scheduled}/": "replay",
    "/jobs/{running}/": "operate",
    "/quarantine/": "replay",
}


def test_every_button_says_why(open_page: Open, world: World) -> None:
    page = open_page("/", codenames=("view_dashboard",))
    for address, codename in PLACES.items():
        world.tell()
        page.goto(address.format(scheduled=world.scheduled, running=world.running))
        refused = page.locator(f'#live .btn.refused[data-why*="{codename}"]')
        assert refused.count() and not page.locator("#live [data-dialog]").count(), address
        refused.first.focus()
        page.keyboard.press("Enter")
        page.locator(".toast", has_text=codename).wait_for()
        assert not page.locator("dialog[open]").count()
    assert not Intervention.objects.exists()


def test_who_may_operate_may_not_replay(open_page: Open, world: World) -> None:
    page = open_page("/workers/", codenames=("view_dashboard", "operate"))
    assert page.locator('[data-dialog="worker"]').count() and not page.locator(".refused").count()
    page.goto("/quarantine/")
    page.get_by_role("button", name="Replay…").click(force=True)
    page.locator(".toast", has_text="replay").wait_for()
