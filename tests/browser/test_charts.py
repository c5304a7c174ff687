"""The charts over time, in a browser: drawn, read by pointer and keys, kept over refreshes, in either theme."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from queueops.conf import conf
from tests.browser.test_browser import Open
from tests.browser.world import World
from tests.support import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def looked(world: World) -> World:
    world.look_back()
    world.tell()
    return world


def values(page: Any, name: str) -> list[str]:
    found: list[str] = page.locator(f"#c-{name} [data-v]").all_inner_texts()
    return found


def inked(page: Any, name: str) -> dict[str, int]:
    """How many pixels of the drawing have each colour of its names."""
    script = """figure => {
      const canvas = figure.querySelector("canvas");
      const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const found = {};
      for (const key of figure.querySelectorAll("figcaption .key")) {
        const [r, g, b] = getComputedStyle(key).color.match(/\\d+/g).map(Number);
        let n = 0;
        for (let i = 0; i < all.length; i += 4) {
          const far = Math.abs(all[i] - r) + Math.abs(all[i + 1] - g) + Math.abs(all[i + 2] - b);
          n += far < 24 && all[i + 3] > 99;
        }
        found[key.parentElement.textContent.trim().split(/\\s/)[0]] = n;
      }
      return found;
    }"""
    found: dict[str, int] = page.locator(f"#c-{name}").evaluate(script)
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_lines_are_drawn_in_the_colours_of_their_names(open_page: Open, looked: World, dark: bool) -> None:
    page = open_page("/flow/?queue=default", dark=dark)
    page.locator("#c-pace canvas").wait_for()
    before = inked(page, "pace")
    assert set(before) == {"Inflow", "Completed"} and min(before.values()) > 20
    page.locator("#theme").click()
    page.locator("#theme").click()
    eventually(lambda: min(inked(page, "pace").values()) > 20, what="the drawing in the other theme")


def test_pointer_keys_and_gaps(open_page: Open, looked: World) -> None:
    page = open_page("/flow/?queue=default")
    area = page.locator("#c-pace [data-plot]")
    area.locator("canvas").wait_for()
    assert values(page, "pace") == ["6", "4"], "the newest that is known"
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 60)
    assert values(page, "pace") == ["–", "–"], "nobody counted then"
    note = page.locator("#c-pace [data-note]")
    assert note.inner_text()
    page.mouse.move(0, 0)
    area.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert values(page, "pace") == ["6", "4"] and note.inner_text()
    page.keyboard.press("Escape")
    assert note.inner_text() == ""


def test_a_refresh_keeps_the_drawing_and_brings_new_numbers(open_page: Open, looked: World, redis: Any) -> None:
    page = open_page("/queues/?name=default")
    page.locator("#c-waiting canvas").wait_for()
    assert values(page, "waiting") == ["27"]
    page.locator("#c-waiting canvas").evaluate("canvas => { canvas.dataset.mine = 1; }")
    page.evaluate("window.stayed = true")
    shown = page.locator("#fresh").inner_text()
    asked: list[str] = []
    page.on("response", lambda found: asked.append(found.url) if found.request.headers.get("hx-request") else None)

    def refreshed() -> bool:
        looked.tell()
        redis.publish(conf.keys.static("snapshot_channel"), redis.get(conf.keys.static("snapshot")))
        page.locator("h1").inner_text()
        return bool(asked)

    eventually(refreshed, what=f"a refresh after {shown}")
    assert page.locator("#c-waiting canvas[data-mine]").count() == 1, "the same numbers: nothing is drawn anew"
    assert page.evaluate("window.stayed") is True


def test_periods_table_and_file(open_page: Open, looked: World, tmp_path: Path) -> None:
    page = open_page("/flow/?queue=default")
    page.get_by_role("navigation", name="Period").get_by_role("link", name="6 h").click()
    page.wait_for_url("**period=6h**")
    page.get_by_role("navigation", name="Percentile").get_by_role("link", name="p99").click()
    page.wait_for_url("**percentile=99**")
    assert "period=6h" in page.url and "p99" in page.locator("#ct-times").inner_text()
    page.locator("#cd-pace summary").click()
    assert page.locator("#cd-pace tbody tr").count() == 30
    with page.expect_download() as got:
        page.locator("#cd-pace").get_by_role("link", name="All of them as CSV").click()
    got.value.save_as(tmp_path / "pace.csv")
    head, *rows = csv.reader((tmp_path / "pace.csv").read_text().splitlines())
    assert head == ["time", "inflow", "completed", "meanwhile"] and len(rows) >= 358


def test_without_a_script_the_table_has_it_all(open_page: Open, looked: World) -> None:
    page = open_page("/flow/?queue=default", java_script_enabled=False)
    assert "needs JavaScript" in page.locator("#c-pace [data-plot]").inner_text()
    page.locator("#cd-pace summary").click()
    assert page.locator("#cd-pace tbody tr").first.is_visible()
    assert json.loads(page.locator("#c-pace").get_attribute("data-chart"))["unit"] == "rate"


def test_it_fits_a_phone(open_page: Open, looked: World) -> None:
    page = open_page("/flow/?queue=default", width=390)
    page.locator("#c-times canvas").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#c-pace canvas").bounding_box()["width"] <= 390
