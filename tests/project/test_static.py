"""Static files are served by the project itself, without a collecting step."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import AsyncClient, Client

pytestmark = pytest.mark.django_db


def test_a_file_is_served_whole(client: Client) -> None:
    answer = client.get("/static/dashboard/app.css")
    with Path(str(finders.find("dashboard/app.css"))).open("rb") as file:
        assert answer.content == file.read()
    assert answer["Content-Type"].startswith("text/css")
    assert int(answer["Content-Length"]) == len(answer.content)


def test_head_and_ranges(client: Client) -> None:
    head = client.head("/static/dashboard/app.css")
    assert head.content == b""
    assert int(head["Content-Length"]) > 1000
    part = client.get("/static/dashboard/app.css", headers={"range": "bytes=0-9"})
    assert (part.status_code, len(part.content)) == (206, 10)


def test_an_unchanged_file_is_not_sent_again(client: Client) -> None:
    changed = client.get("/static/dashboard/app.css")["Last-Modified"]
    again = client.get("/static/dashboard/app.css", headers={"if-modified-since": changed})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["nope.css", "../settings.py", "%2e%2e/manage.py", "dashboard/../../manage.py"])
def test_nothing_else_is_served(client: Client, path: str) -> None:
    assert client.get(f"/static/{path}").status_code == 404


def test_the_asgi_server_has_nothing_to_warn_of() -> None:
    import asyncio

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = asyncio.run(AsyncClient().get("/static/dashboard/app.css"))
    assert answer.status_code == 200
