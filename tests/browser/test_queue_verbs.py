"""Pause, resume, isolate, let run: from the page of a queue."""

from __future__ import annotations

import pytest

from queueops.models import Intervention, Isolation, Pause
from tests.browser.hands import WHY, confirm, press
from tests.browser.test_browser import Open
from tests.browser.world import LABEL, World
from tests.scripts.kit import K

pytestmark = pytest.mark.browser


def test_a_function_is_paused_and_resumed(open_page: Open, world: World) -> None:
    page = open_page("/queues/?name=default")
    press(page, "Pause…", "print_label")
    confirm(page, "pause", f"Pause {LABEL}", "Paused")
    assert Pause.objects.get().name == LABEL and world.redis.hexists(K.static("paused"), f"f:{LABEL}")
    assert world.doors.start(worker="w-beta") is None
    press(page, "Resume…", "print_label")
    confirm(page, "lift", "Resume", "Resumed")
    assert not world.redis.hexists(K.static("paused"), f"f:{LABEL}")
    assert Intervention.objects.filter(reason=WHY, actor="user0").count() == 2


def test_everything_is_paused_and_resumed(open_page: Open, world: World) -> None:
    page = open_page("/queues/")
    page.get_by_role("button", name="Pause everything…").click()
    confirm(page, "pause", "Pause everything", "Paused everything")
    assert world.redis.hexists(K.static("paused"), "all")
    world.tell()
    page.reload()
    page.locator("#banner").get_by_role("button", name="Resume").click()
    confirm(page, "lift", "Resume", "Resumed everything")
    assert not world.redis.exists(K.static("paused"))


def test_a_function_is_isolated_and_let_run(open_page: Open, world: World) -> None:
    page = open_page("/queues/?name=default")
    press(page, "Isolate…", "print_label")
    confirm(page, "isolate", "Isolate", "Isolated")
    assert world.doors.start(worker="w-beta") is None
    assert world.doors.field(world.queued, "qo_quarantined")
    press(page, "Let run…", "print_label")
    confirm(page, "lift", "Let run", "runs again")
    assert not Isolation.objects.filter(slot__isnull=False).exists()
    job = world.job()
    assert world.start(worker="w-beta") == job


def test_no_reason_no_change(open_page: Open, world: World) -> None:
    page = open_page("/queues/?name=default")
    for opener, dialog, button in (("Pause…", "pause", "Pause"), ("Isolate…", "isolate", "Isolate")):
        press(page, opener, "print_label")
        page.locator(f"#d-{dialog}").get_by_role("button", name=button).click()
        assert page.locator(f"#d-{dialog}").get_by_label("Reason").evaluate("field => field.matches(':invalid:focus')")
        page.keyboard.press("Escape")
    assert not Intervention.objects.exists()
