from __future__ import annotations

import json

import pytest

from queueops.rdb.scripts import ScriptError, run
from tests.scripts.kit import Doors, K


def record(**more: object) -> str:
    return json.dumps({"until": 0, "by": "ann", "reason": "why", "id": "p1", "at": 1, **more})


@pytest.mark.parametrize("field", ["q:default", "f:app.f", "all"])
def test_nothing_starts_after_the_call(doors: Doors, field: str) -> None:
    doors.enqueue()
    assert run(doors.redis, "pause", field, record(), "ann", "why") is None
    assert doors.start() is None
    doors.enqueue()
    assert doors.start() is None
    events = {"q:default": "queue.paused", "f:app.f": "function.paused", "all": "all.paused"}
    assert doors.log().count(events[field]) == 1


def test_another_queue_goes_on(doors: Doors) -> None:
    doors.enqueue(queue="b")
    doors.enqueue(queue="a")
    run(doors.redis, "pause", "q:a", record(), "ann", "why")
    found = doors.claim("a", "b", idle=False)
    assert found.queue == "b"


def test_the_same_again_is_no_second_event(doors: Doors) -> None:
    run(doors.redis, "pause", "q:a", record(), "ann", "why")
    assert run(doors.redis, "pause", "q:a", record(), "ann", "why") == record().encode()
    assert doors.log().count("queue.paused") == 1


def test_the_new_record_replaces_the_old_one(doors: Doors) -> None:
    run(doors.redis, "pause", "q:a", record(), "ann", "why")
    assert run(doors.redis, "pause", "q:a", record(id="p2"), "bob", "why") == record().encode()
    assert json.loads(doors.redis.hget(K.static("paused"), "q:a"))["id"] == "p2"


def test_refuses_where_the_settings_are_not_mirrored(doors: Doors) -> None:
    doors.redis.delete(K.static("epoch"))
    with pytest.raises(ScriptError) as error:
        run(doors.redis, "pause", "q:a", record(), "ann", "why")
    assert error.value.code == "MIRROR_MISSING"
    assert not doors.redis.exists(K.static("paused"))


def test_a_pause_whose_end_has_passed_holds_nothing(doors: Doors) -> None:
    job = doors.enqueue()
    run(doors.redis, "pause", "q:default", record(until=1), "ann", "why")
    assert (doors.start() or ("",))[0] == job
