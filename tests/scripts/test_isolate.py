from __future__ import annotations

import json

import pytest

from queueops.rdb.scripts import ScriptError, run
from tests.scripts.kit import Doors, K, claim

KEY = claim("semaphore", "disk", "eu")


def isolate(doors: Doors, field: str, pk: str = "i1") -> object:
    return run(doors.redis, "isolate", "set", field, json.dumps({"until": 0, "id": pk}), "ann", "why")


@pytest.mark.parametrize("field", ["f:app.f", f"k:{KEY['i']}", "e:abc123"])
def test_such_jobs_go_to_quarantine_instead_of_running(doors: Doors, field: str) -> None:
    isolate(doors, field)
    job = doors.enqueue(KEY, mapping={"qo_error": "abc123"})
    other = doors.enqueue(function="app.g")
    assert (doors.start() or ("",))[0] == other
    assert doors.redis.zscore(K.of("quarantined", "default"), job)
    assert doors.totals()["quarantined"] == 1


def test_lifted_they_run(doors: Doors) -> None:
    isolate(doors, "f:app.f")
    assert run(doors.redis, "isolate", "lift", "f:app.f", "i1", "ann", "why")
    job = doors.enqueue()
    assert (doors.start() or ("",))[0] == job
    assert doors.log().count("function.unisolated") == 1


def test_only_the_record_named_is_lifted(doors: Doors) -> None:
    isolate(doors, "f:app.f", "new")
    assert run(doors.redis, "isolate", "lift", "f:app.f", "old", "ann", "why") is None
    assert run(doors.redis, "isolate", "lift", "f:other", "", "ann", "why") is None
    assert doors.redis.hlen(K.static("isolated")) == 1


def test_refuses_where_the_settings_are_not_mirrored(doors: Doors) -> None:
    doors.redis.delete(K.static("epoch"))
    with pytest.raises(ScriptError, match="MIRROR_MISSING"):
        isolate(doors, "f:app.f")
