"""The dashboard under a prefix: behind a proxy that says so, and included below a path of another project."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session

from queueops.models import Pause
from tests.browser.hands import confirm, press
from tests.browser.test_browser import Open
from tests.browser.world import World
from tests.support import ROOT, eventually, free_port

pytestmark = pytest.mark.browser

WAYS = {
    "script name": {"FORCE_SCRIPT_NAME": "/ops"},
    "included": {"DJANGO_SETTINGS_MODULE": "tests.browser.mounted_settings"},
}


@pytest.fixture(params=WAYS)
def ops(request: Any, child_env: dict[str, str]) -> Iterator[str]:
    """The address of the overview."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "queueops.project.asgi:application", "--port", str(port)]
    quiet = ["--log-level", "error", "--lifespan", "off"]
    ours = {**child_env, "SECRET_KEY": settings.SECRET_KEY}  # it reads the sessions that are made here
    process = subprocess.Popen([*command, *quiet], cwd=ROOT, env={**ours, **WAYS[request.param]})
    try:
        eventually(lambda: _answers(port), what="the web server")
        yield f"http://127.0.0.1:{port}/ops/"
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    try:
        return bool(urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2).status == 200)
    except OSError:
        return False


def test_links_live_figures_and_changes_stay_under_the_prefix(open_page: Open, world: World, ops: str) -> None:
    page = open_page(ops)
    base = ops.removesuffix("/ops/")
    outside: list[str] = []
    page.on("request", lambda r: outside.append(r.url) if r.url.startswith(base) and "/ops/" not in r.url else None)
    for link in page.locator("#nav a, #live a").evaluate_all("all => all.map((a) => a.href)"):
        assert link.startswith(ops), link
    with page.expect_websocket(lambda socket: socket.url.endswith("/ops/ws/live/")):
        page.reload()
    page.locator("#live .needs a").first.click()
    page.wait_for_url(f"{ops}**")
    assert page.locator("h1").count() == 1
    page.goto(f"{ops}queues/?name=default")
    press(page, "Pause…")
    confirm(page, "pause", "Pause default", "Paused default")
    assert page.url == f"{ops}queues/?name=default" and Pause.objects.get().name == "default"
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.wait_for_url(f"{ops}locks/")
    assert [url for url in outside if "/static/" not in url] == []
    page.goto("about:blank")  # nothing is asked of a server that ends


def test_a_log_out_elsewhere_ends_at_the_login(open_page: Open, world: World, ops: str) -> None:
    page = open_page(ops)
    Session.objects.all().delete()
    page.wait_for_url("**/login/?next=/ops/", timeout=20_000)
    page.goto("about:blank")  # nothing is asked of a server that ends
