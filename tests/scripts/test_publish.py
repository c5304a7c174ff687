from __future__ import annotations

import json
from typing import Any

from queueops.rdb import doors as door
from tests.scripts.kit import Doors, K


def disk(limit: int) -> dict[str, dict[str, Any]]:
    return {"S:disk": {"kind": "semaphore", "name": "disk", "limit": limit, "per": 0, "strategy": "", "burst": 0}}


def in_force(doors: Doors) -> tuple[int, str]:
    found = json.loads(doors.redis.hget(K.static("controls"), "S:disk"))
    return found["limit"], found["release"]


def test_the_newest_release_by_first_sight_wins(doors: Doors) -> None:
    assert door.publish(doors.redis, "r1", disk(2)) == 1
    assert door.publish(doors.redis, "r2", disk(4)) == 1
    assert in_force(doors) == (4, "r2")
    assert door.publish(doors.redis, "r1", disk(2)) == 0
    assert in_force(doors) == (4, "r2")
    assert json.loads(doors.redis.hget(K.static("conflicts"), "S:disk"))["release"] == "r1"
    assert "control.definition_conflict" in doors.log()


def test_agreement_ends_the_conflict(doors: Doors) -> None:
    door.publish(doors.redis, "r1", disk(2))
    door.publish(doors.redis, "r2", disk(4))
    door.publish(doors.redis, "r1", disk(4))
    assert not doors.redis.hexists(K.static("conflicts"), "S:disk")
