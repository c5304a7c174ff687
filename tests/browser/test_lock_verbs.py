"""Limit, revert, release one, release all: from the page of a control and of one of its keys."""

from __future__ import annotations

import pytest

from queueops.models import Override
from tests.browser.hands import confirm, press
from tests.browser.test_browser import Open
from tests.browser.world import DISK, World
from tests.scripts.kit import K

pytestmark = pytest.mark.browser

ONE = "/locks/?control=S:report-disk&key="


def holders(world: World) -> int:
    return int(world.redis.zcard(K.of("holders", DISK["i"])))


def test_a_raised_limit_lets_a_waiter_in_and_is_reverted(open_page: Open, world: World) -> None:
    page = open_page("/locks/?control=S:report-disk")
    press(page, "Change limit…")
    assert page.locator("#d-limit").get_by_label("Limit").input_value() == "2"
    page.locator("#d-limit").get_by_label("Limit").fill("3")
    confirm(page, "limit", "Change the limit", "limited to 3")
    assert Override.objects.get().limit == 3 and world.redis.zcard(K.of("offers", DISK["i"])) == 1
    press(page, "Revert the limit…")
    confirm(page, "lift", "Revert the limit", "its declared limit again")
    assert not Override.objects.filter(slot__isnull=False).exists()


def test_a_gone_owner_is_released_by_force_and_the_next_is_offered_its_place(open_page: Open, world: World) -> None:
    page = open_page("/")
    page.locator(".needs li", has_text="report-disk has no living job behind it, and 3 jobs wait").get_by_role(
        "link"
    ).click()
    page.wait_for_url(f"**{ONE.replace(':', '%3A')}")
    gone = page.locator(".slotcard", has_text="owner gone")
    assert gone.count() == 1 and holders(world) == 2
    gone.get_by_role("button", name="Force release…").click()
    assert "not stopped" in page.locator("#d-release").inner_text()
    confirm(page, "release", "Release", "Released 1 holder.")
    assert holders(world) == 1 and world.doors.queued()[0] in page.locator("#live").inner_text()
    page.locator(".slotcard", has_text="offered").wait_for()
    assert page.locator(".slotcard", has_text="owner gone").count() == 0


def test_all_are_released(open_page: Open, world: World) -> None:
    page = open_page(ONE)
    press(page, "Release all…")
    confirm(page, "release", "Release", "Released 2 holders.")
    assert holders(world) == 0 and world.redis.zcard(K.of("offers", DISK["i"])) == 2
