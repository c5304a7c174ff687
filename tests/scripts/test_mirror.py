from __future__ import annotations

import json

import pytest

from queueops.rdb.scripts import SCHEMA, ScriptError, run
from tests.scripts.kit import Doors, K


def test_replaces_all_and_sets_the_epoch(doors: Doors) -> None:
    doors.redis.hset(K.static("paused"), "q:old", "{}")
    doors.redis.delete(K.static("epoch"))
    paused, limits = json.dumps({"q:a/b\nキュー": "{}"}), json.dumps({"S:disk": '{"limit":1,"until":0}'})
    assert run(doors.redis, "mirror", "e2", SCHEMA, paused, "{}", limits) == 2
    assert list(doors.redis.hgetall(K.static("paused"))) == ["q:a/b\nキュー".encode()]
    assert doors.redis.get(K.static("epoch")) == b"e2"


def test_refuses_a_newer_layout(doors: Doors) -> None:
    doors.redis.set(K.static("schema"), SCHEMA + 1)
    with pytest.raises(ScriptError, match="upgrade queueops"):
        run(doors.redis, "mirror", "e", SCHEMA, "{}", "{}", "{}")


def test_a_slower_rebuild_does_not_overwrite_what_is_in_force_by_now(doors: Doors) -> None:
    doors.redis.hset(K.static("paused"), "q:new", "{}")
    assert run(doors.redis, "mirror", "late", SCHEMA, "{}", "{}", "{}") == 0
    assert doors.redis.hexists(K.static("paused"), "q:new")
