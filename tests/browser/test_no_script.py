"""Without JavaScript every page can be read, filtered and paged."""

from __future__ import annotations

import pytest

from tests.browser.test_browser import Open
from tests.browser.world import World, addresses

pytestmark = pytest.mark.browser


def test_every_page_can_be_read(open_page: Open, world: World) -> None:
    world.intervene()
    page = open_page("/", java_script_enabled=False)
    for address in addresses(world):
        world.tell()
        page.goto(address)
        assert page.locator("h1").is_visible(), address
        assert page.locator("[data-zone]").all_text_contents() in ([], ["UTC"])
        assert not page.locator("dialog:visible").count() and not page.locator("#stalebar").is_visible()
        times = page.locator("#live time[datetime]").all_text_contents()
        assert [text for text in times if not text.endswith(" UTC")] == [], address


def test_filters_and_searches_work(open_page: Open, world: World) -> None:
    page = open_page("/jobs/?state=scheduled", java_script_enabled=False)
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Arguments contain").fill("order_id=11")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**text=order_id%3D11*")
    assert page.locator("#live tbody tr").count() == 1
    page.get_by_role("link", name="due-11").click()
    page.get_by_text("Its time has not come").wait_for()
    page.get_by_label("Search jobs, keys, queues").fill("report-disk")
    page.get_by_label("Search jobs, keys, queues").press("Enter")
    page.get_by_role("link", name="report-disk").first.click()
    page.wait_for_url("**/locks/?control=S%3Areport-disk*")
