"""What is left out of RQ's recorded transaction changes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queueops.rq.recorder import trimmed

KEY, TOKEN = "rq:job:one", "a-token"
NAMES = ["status", "ended_at", "timeout", "description", "meta"]
STORED = {b"data": b"x", b"status": b"started", b"timeout": b"180", b"description": "キュー".encode()}

names = st.sampled_from([*NAMES, "data"])
values = st.sampled_from(["started", "finished", "", "キュー", "180", 180, 1.5, b"x", b"\xff"])
commands = st.one_of(
    st.dictionaries(names, values, min_size=1).map(
        lambda fields: ("HSET", KEY, *(part for pair in fields.items() for part in pair))
    ),
    names.map(lambda name: ("HDEL", KEY, name)),
    st.sampled_from([("DEL", KEY), ("EXPIRE", KEY, 500), ("PERSIST", KEY), ("RPUSH", "rq:queue:default", "one")]),
)


def after(redis: Any, done: list[tuple[Any, ...]]) -> dict[bytes, bytes]:
    redis.delete(KEY)
    redis.hset(KEY, mapping=STORED)
    for command in done:
        redis.execute_command(*command)
    fields: dict[bytes, bytes] = redis.hgetall(KEY)
    fields.pop(b"data", None)
    return fields


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=st.lists(commands, max_size=6))
def test_the_hash_ends_the_same(redis, done):
    job = SimpleNamespace(id="one", key=KEY, stored=STORED)
    assert after(redis, trimmed(done, job, TOKEN)) == after(redis, done)


def test_unchanged_fields_and_the_clean_up_of_the_execution_are_left_out():
    job = SimpleNamespace(id="one", key=KEY, stored=STORED)
    done = [
        ("HSET", KEY, "status", "finished"),
        ("HSET", KEY, "status", "finished", "timeout", 180, "description", "キュー", "data", b"y", "ended_at", "now"),
        ("ZADD", "rq:finished:default", 9, "one"),
        ("DEL", f"rq:execution:one:{TOKEN}"),
        ("ZREM", "rq:wip:default", f"one:{TOKEN}"),
        ("ZREM", "rq:executions:one", TOKEN),
        ("SREM", "rq:worker:w:executions", f"one:{TOKEN}"),
        ("EXPIRE", KEY, 500),
    ]
    assert trimmed(done, job, TOKEN) == [
        ("HSET", KEY, "status", "finished", "ended_at", "now"),
        ("ZADD", "rq:finished:default", 9, "one"),
        ("EXPIRE", KEY, 500),
    ]
