"""C32: who may see and change what: every address × role × method."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver

from dashboard import access
from dashboard.urls import urlpatterns
from tests.dashboard.conftest import ROLES

LISTS = (
    "queues",
    "jobs",
    "workers",
    "locks",
    "changelog",
    "backlog",
    "flow",
    "diagnosis",
    "quarantine",
    "interventions",
)
GETS = {
    "overview": "/",
    "changelog_export": "/changelog/export.csv",
    "job": "/jobs/some-id/",
    "function": "/flow/function/",
    "history_export": "/flow/history.csv",
    **{name: f"/{name}/" for name in LISTS},
}
POSTS = {verb: f"/do/{verb}/" for verb in access.VERBS}
ANSWERS = {"job": 404, "function": 404}


def browser(user: Any = None, **options: Any) -> Client:
    client = Client(**options)
    if user is not None:
        client.force_login(user)
    return client


def test_every_address_is_in_this_matrix() -> None:
    names = {pattern.name for pattern in urlpatterns}
    assert names == set(GETS) | {f"do_{verb}" for verb in POSTS}
    assert "dashboard" in get_resolver().namespace_dict


@pytest.mark.parametrize("role", [*ROLES, "superuser"])
def test_pages_by_role(roles: dict[str, Any], redis: Any, role: str) -> None:
    client = browser(roles[role])
    sees = role == "superuser" or "view_dashboard" in ROLES.get(role, ())
    for name, address in GETS.items():
        expected = ANSWERS.get(name, 200) if sees else 403
        assert client.get(address).status_code == expected, (role, address)
        assert client.head(address).status_code == expected, (role, address)
        for method in ("post", "put", "delete", "patch"):
            assert getattr(client, method)(address).status_code == 405, (role, method, address)


@pytest.mark.parametrize("role", [*ROLES, "superuser"])
def test_changes_by_role(roles: dict[str, Any], redis: Any, role: str) -> None:
    client = browser(roles[role])
    for verb, address in POSTS.items():
        needed = {"view_dashboard", access.VERBS[verb]}
        allowed = role == "superuser" or needed <= set(ROLES.get(role, ()))
        answer = client.post(address, {"kind": "queue", "name": "default", "control": "S:x", "job": "x", "next": "/"})
        assert answer.status_code == (302 if allowed else 403), (role, verb)
        for method in ("get", "head", "put", "delete"):
            assert getattr(client, method)(address).status_code == 405, (role, method, verb)


def test_strangers_are_sent_to_the_login(db: None, redis: Any) -> None:
    client = browser()
    for address in GETS.values():
        answer = client.get(address)
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/login/"), address
    for address in POSTS.values():
        assert client.post(address)["Location"].startswith("/login/"), address


def test_a_user_who_is_no_longer_active_sees_nothing(roles: dict[str, Any], redis: Any) -> None:
    client = browser(roles["superuser"])
    roles["superuser"].is_active = False
    roles["superuser"].save()
    assert client.get("/").status_code == 302


def test_a_change_needs_the_csrf_token(roles: dict[str, Any], redis: Any) -> None:
    client = browser(roles["superuser"], enforce_csrf_checks=True)
    for address in (*POSTS.values(), "/i18n/setlang/", "/logout/"):
        assert client.post(address, {"kind": "queue", "name": "default", "reason": "r"}).status_code == 403, address


def test_looking_changes_nothing_in_redis(roles: dict[str, Any], redis: Any) -> None:
    """Every key keeps its value, and no command that writes is called."""
    redis.lpush("rq:queue:default", "a")
    redis.sadd("rq:queues", "rq:queue:default")
    redis.zadd("rq:wip:default", {"a:b": 1})  # an expired entry: RQ's own pages would clean it up
    redis.hset("rq:job:a", mapping={"status": "queued", "origin": "default"})

    def state() -> dict[bytes, bytes]:
        return {key: redis.dump(key) for key in redis.scan_iter()}

    client, before = browser(roles["superuser"]), state()
    redis.config_resetstat()
    for address in (*GETS.values(), "/queues/?name=default&state=running", "/jobs/a/", "/locks/?control=S:x&key="):
        client.get(address)
    called = {name.removeprefix("cmdstat_") for name in redis.info("commandstats")}
    assert state() == before
    writes = """set del unlink hset hdel zadd zrem lpush rpush lpop rpop lrem xadd expire persist sadd srem
        incr hincrby zremrangebyscore keys smembers"""
    assert not called & set(writes.split()), sorted(called)


def test_view_only_users_see_why_a_button_is_not_theirs(roles: dict[str, Any], redis: Any) -> None:
    html = browser(roles["viewer"]).get("/queues/?name=default").content.decode()
    assert 'aria-disabled="true"' in html and "“operate”" in html
    assert 'data-dialog="pause"' not in html
    assert 'data-dialog="pause"' in browser(roles["operator"]).get("/queues/?name=default").content.decode()


def test_pages_are_not_kept_and_carry_the_policy(roles: dict[str, Any], redis: Any) -> None:
    answer = browser(roles["viewer"]).get("/")
    assert "no-store" in answer["Cache-Control"]
    policy = answer["Content-Security-Policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy
