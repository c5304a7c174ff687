"""Times are the viewer's, and the page says whose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.browser.test_browser import Open
from tests.browser.world import World

pytestmark = pytest.mark.browser


JUMP = """new MutationObserver(() => {
  const jumped = [...document.querySelectorAll("#live time")].some((el) => el.textContent.includes("UTC"));
  if (jumped) document.body.dataset.jumped = "1";
}).observe(document.body, {subtree: true, childList: true, characterData: true})"""


def test_times_are_in_the_viewers_zone_and_stay_so(open_page: Open, world: World) -> None:
    page = open_page("/changelog/", timezone_id="Asia/Tokyo")
    assert page.locator("#nav [data-zone]").inner_text() == "Asia/Tokyo"
    first = page.locator("tbody[data-log] time").first
    there = datetime.fromisoformat(str(first.get_attribute("datetime"))).astimezone(UTC) + timedelta(hours=9)
    assert first.inner_text().startswith(there.strftime("%H:%M:%S"))
    page.evaluate(JUMP)
    world.start(worker="w-beta")
    page.locator("#newrows:visible").wait_for()
    assert page.locator("#nav [data-zone]").inner_text() == "Asia/Tokyo"
    assert page.locator("body[data-jumped]").count() == 0, "a refresh never shows another zone first"
