from __future__ import annotations

import json

import pytest

from queueops.rdb.keys import control_id
from queueops.rdb.scripts import ScriptError, run
from tests.scripts.kit import Doors, K, claim

DISK = control_id("semaphore", "disk")


def disk(key: str = "", n: int = 1) -> dict[str, object]:
    return claim("semaphore", "disk", key, n=n)


def limit(doors: Doors, n: int, *instances: str, pk: str = "o1") -> list[object]:
    text = json.dumps({"until": 0, "id": pk, "limit": n})
    return list(run(doors.redis, "limit", "set", DISK, text, "ann", "why", *instances))


def test_a_higher_limit_wakes_waiters_at_once(doors: Doors) -> None:
    jobs = [doors.enqueue(disk()) for _ in range(4)]
    doors.start()
    assert doors.start() is None
    assert limit(doors, 3, str(disk()["i"])) == [b"", 2]
    assert doors.queued() == [jobs[2], jobs[1]] or doors.queued() == jobs[1:3]
    assert doors.start()
    assert doors.start()
    assert doors.start() is None
    assert "control.limit_changed" in doors.log()


def test_zero_stops_and_holders_stay(doors: Doors) -> None:
    doors.enqueue(disk(n=5))
    doors.start()
    limit(doors, 0)
    doors.enqueue(disk(n=5))
    assert doors.start() is None
    assert doors.redis.zcard(K.of("holders", str(disk()["i"]))) == 1


def test_lifted_the_declared_limit_holds_again(doors: Doors) -> None:
    limit(doors, 0)
    job = doors.enqueue(disk(n=5))
    assert doors.start() is None
    before, woken = run(doors.redis, "limit", "lift", DISK, "o1", "ann", "why", str(disk()["i"]))
    assert json.loads(before)["limit"] == 0
    assert woken == 1
    assert (doors.start() or ("",))[0] == job


def test_only_the_record_named_is_lifted(doors: Doors) -> None:
    limit(doors, 2, pk="new")
    run(doors.redis, "limit", "lift", DISK, "old", "ann", "why")
    assert doors.redis.hlen(K.static("overrides")) == 1


def test_a_call_wakes_a_bounded_number_of_instances(doors: Doors) -> None:
    limit(doors, 0)
    keys = [f"k{n}" for n in range(30)]
    for key in keys:
        doors.enqueue(disk(key))
    assert doors.start() is None
    assert limit(doors, 1, *(str(disk(key)["i"]) for key in keys))[1] == 20


def test_refuses_where_the_settings_are_not_mirrored(doors: Doors) -> None:
    doors.redis.delete(K.static("epoch"))
    with pytest.raises(ScriptError, match="MIRROR_MISSING"):
        limit(doors, 1)
