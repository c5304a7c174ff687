"""axe-core finds no serious fault on any page or dialog, in either theme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest

from tests.browser.test_browser import Open
from tests.browser.world import World, addresses

pytestmark = pytest.mark.browser

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
SCHEMES = (("light", {"resultTypes": ["violations"]}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]}))
"""The theme changes colours only: all rules in one, those about colours in the other."""


@pytest.fixture
def busy(world: World) -> World:
    world.intervene()
    world.look_back()
    world.tell()
    return world


def faults(page: Any, where: str, schemes: Any = SCHEMES) -> list[str]:
    """What axe finds, one line each."""
    found = []
    for scheme, options in schemes:
        page.emulate_media(color_scheme=scheme)
        answer = page.evaluate("options => axe.run(document, options)", options)
        for fault in answer["violations"]:
            for node in fault["nodes"]:
                found.append(f"{where} {scheme} {fault['impact']} {fault['id']}: {node['target']} {node['html'][:160]}")
    return found


def load(page: Any, address: str) -> None:
    page.goto(address)
    page.add_script_tag(path=AXE)


@pytest.mark.parametrize(("width", "schemes"), [(1280, SCHEMES), (390, SCHEMES[:1])])
def test_no_page_has_a_fault(open_page: Open, busy: World, width: int, schemes: Any) -> None:
    page = open_page("/", width=width, bypass_csp=True)  # axe is a script that our policy keeps out
    found = []
    for address in addresses(busy):
        busy.tell()
        load(page, address)
        found += faults(page, address, schemes)
    assert found == []


def test_no_dialog_has_a_fault(open_page: Open, busy: World) -> None:
    page = open_page("/", bypass_csp=True)
    found, seen = [], set()
    places = ("queues/?name=default", "jobs/?state=scheduled", "jobs/?state=recurring", f"jobs/{busy.failed}/",
              "locks/?control=S:report-disk&key=", "quarantine/", "workers/", "interventions/")  # fmt: skip
    for address in places:
        busy.tell()
        load(page, f"/{address}")
        openers = page.locator("#live [data-dialog], #banner [data-dialog]")
        for name in dict.fromkeys(openers.evaluate_all("all => all.map(opener => opener.dataset.dialog)")):
            if name in seen:
                continue
            seen.add(name)
            opener = page.locator(f'[data-dialog="{name}"]').first
            if opener.is_disabled():
                page.locator("[data-select-all]").check()
            opener.click()
            found += faults(page, f"{address} #d-{name}")
            page.keyboard.press("Escape")
    page.keyboard.press("?")
    found += faults(page, "#d-keys")
    assert found == []
    assert seen == {"pause", "isolate", "lift", "run_now", "quarantine", "discard", "cron", "stopbatch", "one", "limit",
                    "release", "replay", "worker"}  # fmt: skip


def test_no_page_of_those_who_may_less_has_a_fault(open_page: Open, busy: World) -> None:
    page = open_page("/", codenames=("view_dashboard",), bypass_csp=True)
    found = []
    for address in ("/queues/?name=default", "/workers/", "/locks/?control=S:report-disk"):
        load(page, address)
        found += faults(page, address)
    page = open_page("/", codenames=(), bypass_csp=True)
    load(page, "/")
    found += faults(page, "forbidden")
    page.context.clear_cookies()
    load(page, "/login/")
    found += faults(page, "login")
    assert found == []
