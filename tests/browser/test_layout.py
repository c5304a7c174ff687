"""Every page fits: at each width nothing scrolls sideways and no text is cut without an ellipsis."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.test_browser import Open
from tests.browser.world import World, addresses

pytestmark = pytest.mark.browser

WIDTHS = (390, 820, 1280, 1920)
FAULTS = Path(__file__).with_name("layout.js").read_text()


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_every_page_at_every_width(open_page: Open, world: World, locale: str) -> None:
    world.intervene()
    world.tell()
    page = open_page("/", locale=locale)
    found = []
    for address in addresses(world):
        world.tell()
        page.goto(address)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"{address} at {width}: {fault}" for fault in page.evaluate(FAULTS)]
    assert found == []
