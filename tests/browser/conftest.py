from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from django.conf import settings
from django.test import Client

from tests.browser.world import World
from tests.dashboard.conftest import boss, fresh, make_user, publish  # noqa: F401  (fixtures of the pages serve here too)
from tests.support import eventually, free_port, missing

CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # no windows are shown: their own pages need not be loaded
    "--disable-features=PreloadTopChromeWebUI,InitialWebUI,WebUIReloadButton,WebUIOmniboxPopup,WebUITabStrip",
)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """A real Chromium, one process for all tests here."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        missing("no Chromium: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    # Playwright's loop runs in this thread, in which the tests also use the ORM
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    """The ASGI application behind uvicorn, on a free port."""
    from queueops.project.asgi import application

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(application, port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, what="the web server")
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


class Watch:
    """What a page complained about: console errors (CSP violations are such), script errors, dialogs."""

    def __init__(self, page: Any) -> None:
        self.found: list[str] = []
        page.on("console", lambda m: self._console(page, m))
        page.on("pageerror", lambda e: self.found.append(f"script: {e}"))
        page.on("dialog", lambda d: (self.found.append(f"dialog: {d.message}"), d.dismiss()))

    def _console(self, page: Any, message: Any) -> None:
        # a page that answers 403 or 404 itself is no fault; a file of it that is missing is
        itself = message.location.get("url") == page.url and "the server responded with a status of 40" in message.text
        if message.type in ("error", "warning") and not itself:
            self.found.append(message.text)


@pytest.fixture
def open_page(chromium: Any, address: str, transactional_db: None, redis: Any) -> Iterator[Callable[..., Any]]:
    """``open_page("/", codenames=("view_dashboard",), dark=True)``: logged in; nothing may be complained about."""
    contexts: list[Any] = []
    watches: list[Watch] = []

    def go(
        path: str, *, codenames: tuple[str, ...] | None = None, width: int = 1280, dark: bool = False, **options: Any
    ) -> Any:
        name = f"user{len(contexts)}"
        client = Client()
        client.force_login(make_user(name, codenames or (), is_superuser=codenames is None))
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            base_url=address,
            locale=options.pop("locale", "en-US"),
            **options,
        )
        context.set_default_timeout(8000)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": address}])
        contexts.append(context)
        page = context.new_page()
        watches.append(Watch(page))
        page.goto(path)
        return page

    yield go
    for context in contexts:
        context.close()
    assert [line for watch in watches for line in watch.found] == []


@pytest.fixture
def world(redis: Any, transactional_db: None) -> World:
    """A shop at a bad hour, with a snapshot of now."""
    world = World(redis)
    world.tell()
    return world
