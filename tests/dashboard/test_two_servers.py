"""Lists over several Redis servers: one order, pages that join, one that is down in a panel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis as redis_py
from django.test import Client

from dashboard.selectors import snapshots, store
from queueops.rdb import client as clients
from queueops.rdb.client import Server, default_server
from tests.scripts.kit import K


@pytest.fixture
def second(redis: Any, own_server: Any) -> Iterator[redis_py.Redis]:
    """The first server serves q0 and q2, the second q1 and q3."""
    real = default_server()
    with redis_py.Redis.from_url(own_server.url, socket_timeout=2) as connection:
        clients._servers[:] = [
            Server("one", real.connection, ("q0", "q2")),
            Server("two", connection, ("q1", "q3")),
        ]
        yield connection
    clients.forget()
    snapshots.forget()
    store.forget()


def fill(first: Any, second: Any, state: str, count: int = 150) -> list[str]:
    made = []
    for i in range(count):
        queue, job = f"q{i % 4}", f"j{i:03d}"
        connection = (first, second)[i % 2]
        status = "failed" if state == "failed" else state
        connection.hset(K.of("rq_job", job), mapping={"status": status, "origin": queue, "qo_since": i, "qo_func": "f"})
        if state == "queued":
            connection.rpush(K.of("rq_queue", queue), job)
        else:
            connection.zadd(K.of(f"rq_{state}", queue), {job: i // 6})
        made.append((i // 6, i % 2, queue, job))
    if state == "queued":
        return [job for *_, job in sorted(made, key=lambda m: (m[1], m[2], m[3]))]
    return [job for *_, job in sorted(made, reverse=state == "failed")]


@pytest.mark.parametrize("query", ["", "&function=f"])
@pytest.mark.parametrize("state", ["queued", "scheduled", "failed"])
def test_pages_join_both_ways(boss: Client, redis: Any, second: Any, state: str, query: str) -> None:
    expected = fill(redis, second, state)
    seen: list[str] = []
    place, pages = "", []
    while True:
        snapshots.forget()
        found = boss.get(f"/jobs/?state={state}{query}{place}").context["jobs"]
        pages.append([row.id for row in found.rows])
        seen += pages[-1]
        if not found.after:
            break
        place = f"&after={found.after}"
    assert seen == expected
    back = pages[-1]
    while found.before:
        found = boss.get(f"/jobs/?state={state}{query}&before={found.before}").context["jobs"]
        if found.before is None:
            break
        back = [row.id for row in found.rows] + back
    assert expected[-len(back) :] == back and len(back) >= len(expected) - 50


def test_the_queue_decides_the_server(boss: Client, redis: Any, second: Any) -> None:
    fill(redis, second, "failed", 8)
    rows = boss.get("/jobs/?state=failed&queue=q1").context["jobs"].rows
    assert [(row.id, row.server) for row in rows] == [("j005", "two"), ("j001", "two")]


def test_one_server_down_is_a_panel_beside_the_rows_of_the_other(
    boss: Client, redis: Any, second: Any, own_server: Any
) -> None:
    fill(redis, second, "failed", 8)
    own_server.kill()
    answer = boss.get("/jobs/?state=failed")
    assert [row.id for row in answer.context["jobs"].rows] == ["j006", "j002", "j004", "j000"]
    assert "Redis of two does not answer" in answer.content.decode()
