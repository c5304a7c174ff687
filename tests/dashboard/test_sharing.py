"""Viewers who ask for the same live part in the same second share it; who they are does not show in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.selectors import snapshots
from dashboard.views import sharing
from tests.dashboard.conftest import Counting, make_user, queue_row

PART = {"HX-Request": "true", "HX-Target": "live"}
PAGES = ("/", "/queues/", "/jobs/", "/workers/", "/locks/", "/changelog/", "/backlog/", "/flow/", "/quarantine/",
         "/interventions/")  # fmt: skip


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part serves for a minute, so that a slow machine shares, too."""
    monkeypatch.setattr(sharing._parts, "_seconds", 60.0)


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("address", PAGES)
def test_the_second_viewer_costs_no_reading(
    boss: Client, counting: Counting, publish: Callable[..., Any], address: str
) -> None:
    publish(queue_row("default"))
    other = browser(make_user("another superuser", is_superuser=True))
    first = boss.get(address, headers=PART)
    counting.trips = 0
    with CaptureQueriesContext(connection) as queries:
        second = other.get(address, headers=PART)
    assert second.content == first.content and b'id="live"' in first.content
    assert counting.trips == 0 and len(queries) == 2, "its session and its user"
    assert int(second["QO-Data-Age"]) >= int(first["QO-Data-Age"])
    assert (second["Vary"], second["Content-Type"]) == (first["Vary"], first["Content-Type"])


@pytest.mark.parametrize("address", PAGES)
def test_nothing_of_the_viewer_is_in_a_part(boss: Client, publish: Callable[..., Any], address: str) -> None:
    publish(queue_row("default"))
    user = make_user("a-name-like-no-other", is_superuser=True)
    html = browser(user).get(address, headers=PART).content.decode()
    assert user.username not in html and "csrfmiddlewaretoken" not in html


def test_rights_language_and_address_are_kept_apart(redis: Any, roles: dict[str, User], publish: Any) -> None:
    publish(queue_row("default"), banner=[{"kind": "pause", "target": "q:default", "by": "ann", "reason": "r"}])
    operator, viewer = browser(roles["operator"]), browser(roles["viewer"])
    allowed = operator.get("/", headers=PART).content.decode()
    assert 'data-dialog="lift"' in allowed
    assert 'data-dialog="lift"' not in viewer.get("/", headers=PART).content.decode()
    assert "対処するものはありません" in viewer.get("/", headers={**PART, "Accept-Language": "ja"}).content.decode()
    assert "対処するものはありません" not in viewer.get("/", headers=PART).content.decode()
    assert viewer.get("/?x=1", headers=PART).content != viewer.get("/queues/?x=1", headers=PART).content
    assert browser(roles["nobody"]).get("/", headers=PART).status_code == 403


def test_a_change_is_seen_at_once(boss: Client, publish: Callable[..., Any]) -> None:
    publish(queue_row("default"))
    boss.get("/queues/", headers=PART)
    publish(queue_row("another"))
    assert "another" in boss.get("/queues/", headers=PART).content.decode(), "reading anew drops what is shared"
    assert snapshots.current().queue("another")
