from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


def test_the_leader_stores_and_publishes(doors: Doors) -> None:
    listener = doors.redis.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(K.static("snapshot_channel"))
    listener.get_message(timeout=1)
    run(doors.redis, "lead", "a", 5000)
    assert run(doors.redis, "show", "a", 10_000, "{}") == 1
    assert doors.redis.get(K.static("snapshot")) == b"{}"
    assert 0 < doors.redis.pttl(K.static("snapshot")) <= 10_000
    message = listener.get_message(timeout=5)
    assert message is not None
    assert message["data"] == b"{}"
    listener.close()


def test_nobody_else_does(doors: Doors) -> None:
    assert run(doors.redis, "show", "a", 10_000, "{}") == 0
    run(doors.redis, "lead", "b", 5000)
    assert run(doors.redis, "show", "a", 10_000, "{}") == 0
    assert not doors.redis.exists(K.static("snapshot"))
