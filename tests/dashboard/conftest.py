from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis as redis_py
from django.contrib.auth.models import Permission, User
from django.test import Client

from dashboard.selectors import remembered, snapshots, store
from queueops.conf import conf
from queueops.rdb import client as clients
from queueops.rdb.client import Server, default_server

HOSTILE = (
    "a/b",
    "q+z",
    "キュー",
    "",
    "line\nbreak",
    "<img src=x onerror=alert(1)>",
    "'onmouseover='x",
    "{{7*7}}",
    "\u202egnp",
)
"""Names that end up in addresses, attributes and text."""

ROLES = {
    "viewer": ("view_dashboard",),
    "operator": ("view_dashboard", "operate"),
    "replayer": ("view_dashboard", "replay"),
    "releaser": ("view_dashboard", "release"),
    "blind operator": ("operate", "replay", "release"),
    "nobody": (),
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test sees what another one read, and a slow machine reads no more often within a page."""
    monkeypatch.setattr(snapshots, "REMEMBER", 60.0)
    snapshots.forget()
    remembered.forget()
    store.forget()
    yield
    snapshots.forget()
    remembered.forget()
    store.forget()


def make_user(name: str, codenames: tuple[str, ...] = (), **fields: Any) -> User:
    user = User.objects.create_user(name, password="a-password-1", **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames, content_type__app_label="queueops"))
    return user


@pytest.fixture
def roles(db: None) -> dict[str, User]:
    """One user per role, and a superuser."""
    found = {name: make_user(name, codenames) for name, codenames in ROLES.items()}
    found["superuser"] = make_user("root", is_superuser=True)
    return found


@pytest.fixture
def boss(db: None, redis: Any) -> Client:
    """A superuser's browser on an empty Redis."""
    client = Client()
    client.force_login(make_user("boss", is_superuser=True))
    return client


@pytest.fixture
def publish(redis: Any) -> Callable[..., dict[str, Any]]:
    """Puts a snapshot into Redis as the monitor does."""

    def put(*queues: dict[str, Any], **more: Any) -> dict[str, Any]:
        seconds, micros = redis.time()
        body = {
            "v": 1,
            "seq": 1,
            "at": seconds * 1_000_000 + micros,
            "server": "default",
            "healthy": True,
            "level": "ok",
            "health": "All queues are on time.",
            "queues": list(queues),
            "workers": {"busy": 1, "idle": 1, "silent": 0},
            "controls": {"full": 0, "waiting": 0},
            "banner": [],
            "totals": {"waiting": 0, "inflow_per_min": 1.0, "completed_per_min": 1.0, "quarantined": 0},
            "needs": [],
            **more,
        }
        redis.set(conf.keys.static("snapshot"), json.dumps(body), px=10_000)
        for item in body["banner"]:  # pages read pauses where they are, not where they were
            if item["kind"] == "pause":
                redis.hset(conf.keys.static("paused"), item["target"], json.dumps(item))
        snapshots.forget()
        return body

    return put


def queue_row(name: str, **more: Any) -> dict[str, Any]:
    """A queue of a snapshot."""
    return {
        "name": name,
        "max_age": 60,
        "oldest_age": 12.0,
        "open": {"queued": 3, "parked": 1, "running": 1},
        "held": {"failed": 1, "quarantined": 2},
        "inflow_per_min": 10.0,
        "completed_per_min": 9.0,
        "failed_per_min": 0.0,
        "paused": None,
        "workers": {"busy": 1, "idle": 0},
        "spark": {"in": [None] * 50 + [10] * 10, "out": [None] * 50 + [9] * 10},
        **more,
    }


class Counting(redis_py.Redis):
    """Counts round trips: a pipeline's execute is one, and so is every command outside of one."""

    trips = 0

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self.trips += 1
        return super().execute_command(*args, **options)

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        made = super().pipeline(transaction, shard_hint)
        execute = made.execute

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.trips += 1
            return execute(*args, **kwargs)

        made.execute = counted
        return made


@pytest.fixture
def counting(redis_server: Any, redis: Any) -> Iterator[Counting]:
    """Every server of the settings through one connection that counts its round trips."""
    real = default_server()
    with Counting.from_url(redis_server.url) as connection:
        clients._servers[:] = [Server(real.alias, connection, real.queues)]
        yield connection
    clients.forget()
