"""Crashes between SQL and Redis, made by processes that kill themselves there, are finished by ``recover``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from queueops import mirror
from queueops.models import Batch, Intervention, Isolation, Override, Pause
from queueops.operations import pause
from queueops.operations.recover import ABANDONED, GRACE, recover
from queueops.rdb.client import default_server
from queueops.rdb.keys import control_id
from tests.scripts.kit import Doors, K, claim
from tests.support import ROOT


@pytest.fixture
def doors(redis: Any, transactional_db: None) -> Doors:
    """SQL changes are committed, since another process reads them."""
    doors = Doors(default_server().connection)
    definition = {"kind": "semaphore", "name": "disk", "limit": 1, "per": 0, "strategy": "sliding", "burst": 0}
    doors.redis.hset(K.static("controls"), control_id("semaphore", "disk"), json.dumps(definition))
    return doors


@pytest.fixture
def killed(child_env: dict[str, str]) -> Any:
    def run(verb: str, where: str) -> None:
        command = [sys.executable, "-m", "tests.operations.killed", verb, where]
        done = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, timeout=60)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()

    return run


def age_rows() -> None:
    """As if all rows had been written long enough ago for their process to be gone."""
    early = timezone.now() - max(GRACE, ABANDONED) - timedelta(seconds=1)
    for model in (Pause, Isolation, Override):
        model.objects.update(created=early)
        model.objects.filter(lifted_at__isnull=False).update(lifted_at=early)
    Intervention.objects.update(at=early)
    Batch.objects.update(owned_until=early)


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_pause(doors: Doors, killed: Any, where: str) -> None:
    killed("pause", where)
    assert Pause.objects.get().state == "applying"
    assert Intervention.objects.get().state == "applying"
    assert doors.redis.hexists(K.static("paused"), "q:default") == (where == "after")
    assert recover().finished == 0, "its process may still be at work"
    age_rows()
    assert recover().finished == 1
    assert (Pause.objects.get().state, Intervention.objects.get().state) == ("in_force", "in_force")
    doors.enqueue()
    assert doors.start() is None
    assert doors.log().count("queue.paused") == 1
    again = recover()
    assert (again.finished, again.corrected, again.failed) == (0, 0, 0)


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_resume(doors: Doors, killed: Any, where: str) -> None:
    pause("queue", "default", actor="bob", reason="why")
    killed("resume", where)
    assert Pause.objects.get().state == "lifting"
    age_rows()
    assert recover().lifted == 1
    assert Pause.objects.get().state == "lifted"
    assert not doors.redis.exists(K.static("paused"))
    assert Intervention.objects.get(verb="pause").state == "done"
    assert Intervention.objects.get(verb="pause").ended_by == "ann"


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_isolation_and_a_limit(doors: Doors, killed: Any, where: str) -> None:
    killed("isolate", where)
    killed("limit", where)
    age_rows()
    assert recover().finished == 2
    assert doors.redis.hexists(K.static("isolated"), "e:abcdef12")
    assert json.loads(doors.redis.hget(K.static("overrides"), "S:disk"))["limit"] == 3
    assert set(Intervention.objects.values_list("state", flat=True)) == {"in_force"}


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_bulk_verb_goes_on(doors: Doors, killed: Any, where: str) -> None:
    doors.enqueue(job_id="job")
    killed("quarantine", where)
    age_rows()
    assert recover().batch_items == 1
    assert doors.redis.zscore(K.of("quarantined", "default"), "job")
    assert Intervention.objects.get().state == "done"
    assert Batch.objects.get().done == 1
    assert doors.totals()["quarantined"] == 1


def test_a_forced_release_that_did_not_happen_says_so(doors: Doors, killed: Any) -> None:
    doors.enqueue(claim("semaphore", "disk"))
    doors.start()
    killed("release", "before")
    assert recover().failed == 0
    age_rows()
    assert recover().failed == 1
    row = Intervention.objects.get()
    assert (row.state, row.error[:11]) == ("failed", "Interrupted")


def test_what_redis_has_and_sql_does_not_know_goes(doors: Doors) -> None:
    doors.redis.hset(K.static("paused"), "q:default", json.dumps({"until": 0, "id": "nobody's"}))
    doors.redis.hset(K.static("isolated"), "f:app.f", "not json")
    assert recover().corrected == 2
    doors.enqueue()
    assert doors.start()


def test_what_sql_has_and_redis_lost_comes_back(doors: Doors) -> None:
    pause("queue", "default", actor="ann", reason="why")
    doors.redis.delete(K.static("paused"))
    age_rows()
    assert recover().corrected == 1
    doors.enqueue()
    assert doors.start() is None


def test_a_redis_that_is_down_is_reported_and_nothing_is_lost(
    doors: Doors, killed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed("pause", "before")
    age_rows()
    from queueops.operations import pauses

    def down(*args: object) -> None:
        raise ConnectionError("down")

    with monkeypatch.context() as patch:
        patch.setattr(pauses, "run", down)
        assert set(recover().errors) == {"paused: down"}
    assert Pause.objects.get().state == "applying"
    assert recover().finished == 1


def test_the_rebuilt_mirror_agrees_with_what_the_verbs_write(doors: Doors) -> None:
    from queueops.operations import isolate, limit

    who = {"actor": "ann", "reason": "why é"}
    pause("queue", "default", **who)
    pause("all", seconds=1000, **who)
    isolate("error", "abcdef12", **who)
    limit("disk", 4, **who)
    tables = ("paused", "isolated", "overrides")

    def read() -> list[dict[bytes, Any]]:
        return [{k: json.loads(v) for k, v in doors.redis.hgetall(K.static(t)).items()} for t in tables]

    before = read()
    doors.redis.flushall()
    mirror.rebuild(default_server())
    assert read() == before
    assert recover().corrected == 0
