"""C23, C33: a server that does not answer is one panel, soon, and not a failed page."""

from __future__ import annotations

import os
import signal
import socket
from typing import Any

import pytest
import redis as redis_py
from django.test import Client

from dashboard.selectors import snapshots, store
from queueops.rdb import client as clients
from queueops.rdb.client import Server
from tests.support import free_port

PAGES = ("/", "/queues/", "/queues/?name=default", "/locks/", "/locks/?control=S:x&key=", "/changelog/", "/backlog/",
         "/flow/", "/diagnosis/", "/quarantine/", "/workers/", "/jobs/", "/jobs/?q=x", "/jobs/abc/")  # fmt: skip


def point_at(connection: Any, *more: Server) -> None:
    clients.forget()
    clients._servers[:] = [Server("dead", connection, ("default",)), *more]


@pytest.fixture(autouse=True)
def restore() -> Any:
    yield
    clients.forget()


def test_a_refused_connection_is_a_panel_on_every_page(boss: Client) -> None:
    point_at(redis_py.Redis(port=free_port(), socket_timeout=2, socket_connect_timeout=2))
    for page in PAGES:
        answer = boss.get(page)
        assert answer.status_code == 200, page
        assert b"does not answer" in answer.content, page


@pytest.fixture
def hanging() -> Any:
    """A port where connections are accepted and nothing is ever answered."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener.getsockname()[1]


def test_a_server_that_hangs_is_a_panel_on_every_page(boss: Client, hanging: int, monkeypatch: Any) -> None:
    """It costs the time of one knock: with the timeout of the settings this test would take 20 minutes."""
    monkeypatch.setattr(store, "KNOCK", 0.05)
    point_at(redis_py.Redis(port=hanging, socket_timeout=100, socket_connect_timeout=100))
    for page in PAGES:
        snapshots.forget()
        store.forget()
        answer = boss.get(page)
        assert answer.status_code == 200 and b"does not answer" in answer.content, page


def test_a_server_that_begins_to_hang(boss: Client, own_server: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(store, "HEARD", 0.0)
    monkeypatch.setattr(store, "KNOCK", 0.2)
    connection = redis_py.Redis.from_url(own_server.url, socket_timeout=100)
    point_at(connection)
    pid = connection.info("server")["process_id"]
    assert b"does not answer" not in boss.get("/").content
    os.kill(pid, signal.SIGSTOP)
    try:
        for page in ("/", "/locks/", "/changelog/"):
            snapshots.forget()
            assert b"does not answer" in boss.get(page).content
    finally:
        os.kill(pid, signal.SIGCONT)


def test_the_other_server_is_still_shown(boss: Client, redis: Any, redis_server: Any) -> None:
    alive = Server("alive", redis_py.Redis.from_url(redis_server.url), ("mail",))
    point_at(redis_py.Redis(port=free_port(), socket_timeout=2), alive)
    for page in ("/", "/queues/", "/workers/", "/locks/"):
        html = boss.get(page).content.decode()
        assert "does not answer" in html
    assert "mail" in boss.get("/queues/").content.decode()


def test_the_page_recovers_with_the_server(boss: Client, own_server: Any) -> None:
    point_at(redis_py.Redis.from_url(own_server.url, socket_timeout=2))
    assert b"does not answer" not in boss.get("/").content
    own_server.kill()
    snapshots.forget()
    assert b"does not answer" in boss.get("/").content
    own_server.start()
    snapshots.forget()
    store.forget()
    assert b"does not answer" not in boss.get("/").content


def test_a_change_without_redis_says_that_nothing_is_certain(boss: Client) -> None:
    point_at(redis_py.Redis(port=free_port(), socket_timeout=2))
    answer = boss.post("/do/pause/", {"kind": "queue", "name": "default", "reason": "r", "next": "/"}, follow=True)
    assert answer.status_code == 200
    assert b"Redis did not answer" in answer.content
