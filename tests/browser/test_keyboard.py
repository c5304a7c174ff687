"""Nothing but the keyboard: from the top of the page to a paused function and to a replayed job."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.models import Pause, QuarantinedJob
from tests.browser.hands import told
from tests.browser.test_browser import Open
from tests.browser.world import LABEL, World

pytestmark = pytest.mark.browser


SAYS = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"


def tab_to(page: Any, words: str, most: int = 120, key: str = "Tab") -> None:
    """Tab until what has the focus says ``words``; it must show that it has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if words in page.evaluate(SAYS):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    pytest.fail(f"{words!r} was not reached with {most} × {key}")


def test_a_function_is_paused(open_page: Open, world: World) -> None:
    page = open_page("/queues/?name=default")
    tab_to(page, "Skip to content")
    page.keyboard.press("Enter")
    tab_to(page, "Isolate…")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.locator("#d-pause").wait_for()
    page.keyboard.type("by keyboard")  # the reason has the focus
    tab_to(page, "Pause", 3)
    page.keyboard.press("Enter")
    told(page, "Paused")
    assert Pause.objects.get().name == LABEL


def test_one_of_the_quarantined_is_replayed(open_page: Open, world: World) -> None:
    page = open_page("/")
    page.keyboard.press("g")
    page.keyboard.press("x")
    page.wait_for_url("**/quarantine/")
    tab_to(page, "Skip to content")
    page.keyboard.press("Enter")
    tab_to(page, "Select ")
    page.keyboard.press("Space")
    page.get_by_text("1 selected").wait_for()
    tab_to(page, "Replay…", key="Shift+Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("its siblings ran")
    tab_to(page, "Replay 1 job", 5)
    page.keyboard.press("Enter")
    told(page, "Replayed: 1.")
    assert QuarantinedJob.objects.filter(state="replayed").count() == 1


def test_a_dialog_keeps_the_focus_and_gives_it_back(open_page: Open, world: World) -> None:
    page = open_page("/queues/?name=default")
    opener = page.get_by_role("button", name="Pause…").first
    opener.focus()
    page.keyboard.press("Enter")
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    assert opener.evaluate("button => button === document.activeElement")
