"""What ``doctor`` says of servers that are not fit. Each has a server of its own to spoil."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis as redis_py

from queueops.operations.examination import examine
from queueops.rdb import client
from queueops.rdb.client import Server
from queueops.rdb.keys import STATIC, TYPES
from tests.scripts.kit import Doors, K


@pytest.fixture
def spoiled(own_server: Any, db: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A connection to a server of this test, which is the only one there is."""
    with redis_py.Redis.from_url(own_server.url, socket_timeout=2) as connection:
        monkeypatch.setattr(
            "queueops.operations.examination.servers", lambda: [Server("own", connection, ("default",))]
        )
        yield connection


def states(*names: str) -> dict[str, str]:
    found = {finding.check: finding.state for finding in examine()}
    return {name: found[name] for name in names} if names else found


def test_eviction_and_persistence(spoiled: Any) -> None:
    Doors(spoiled)
    spoiled.config_set("maxmemory-policy", "allkeys-lru")
    spoiled.config_set("appendonly", "no")
    assert states("redis", "eviction", "appendonly") == {"redis": "ok", "eviction": "bad", "appendonly": "warn"}


def test_a_server_that_keeps_its_settings_secret_is_unknown(spoiled: Any) -> None:
    Doors(spoiled)
    spoiled.execute_command("ACL", "SETUSER", "default", "-config", "-info")
    try:
        found = states("redis", "eviction", "evicted", "appendonly")
    finally:
        spoiled.execute_command("ACL", "SETUSER", "default", "+@all")
    assert set(found.values()) == {"unknown"}


def test_a_read_only_server_is_bad_though_it_answers_pings(spoiled: Any) -> None:
    spoiled.replicaof("127.0.0.1", "1")
    assert spoiled.ping()
    assert states("redis")["redis"] == "bad"


def test_a_full_server_is_bad(spoiled: Any) -> None:
    spoiled.config_set("maxmemory", 1)
    assert states("redis")["redis"] == "bad"


def test_workers_that_pass_the_controls_by(spoiled: Any) -> None:
    Doors(spoiled)
    spoiled.sadd(K.static("rq_workers"), K.of("rq_worker", "plain"))
    spoiled.hset(K.of("rq_worker", "plain"), mapping={"state": "idle", "queues": "default", "birth": "x"})
    assert states("workers")["workers"] == "bad"


def test_a_monitor_that_has_gone_quiet(spoiled: Any) -> None:
    Doors(spoiled)
    seconds, _ = spoiled.time()
    spoiled.hset(K.static("monitor_state"), "snapshot", json.dumps({"at": seconds * 1_000_000}))
    assert states("monitor")["monitor"] == "ok"
    spoiled.hset(K.static("monitor_state"), "snapshot", json.dumps({"at": (seconds - 600) * 1_000_000}))
    assert states("monitor")["monitor"] == "bad"


def test_a_server_that_is_down_is_one_finding(own_server: Any, spoiled: Any) -> None:
    own_server.kill()
    found = states()
    assert found["redis"] == "bad"
    assert "migrations" in found
    assert client.servers()


def test_records_that_cannot_be_read_are_named(spoiled: Any) -> None:
    doors = Doors(spoiled)
    doors.enqueue()
    assert states("records") == {"records": "ok"}
    spoiled.set(K.static("pump"), "x")
    spoiled.set(K.of("rq_queue", "default"), "x")
    texts = [finding.text for finding in examine() if finding.check == "records"]
    assert len(texts) == 2
    assert texts[0].startswith("qo:pump holds a string, not a zset")
    assert texts[1].startswith("rq:queue:default holds a string, not a list")
    spoiled.delete(K.static("pump"), K.of("rq_queue", "default"))
    spoiled.hset(K.static("leases"), "token", "{nonsense")
    assert [f.text for f in examine() if f.check == "records"] == [
        "qo:leases: what stands under 'token' cannot be read; HDEL it"
    ]


@pytest.mark.parametrize(
    "name", [name for name in STATIC if name in TYPES and not name.startswith("rq_") and name != "clock"]
)
def test_every_other_check_answers_beside_such_a_key(spoiled: Any, name: str) -> None:
    Doors(spoiled).enqueue()
    spoiled.delete(K.static(name))
    if TYPES[name] == "string":
        spoiled.rpush(K.static(name), "x")
    else:
        spoiled.set(K.static(name), "x")
    found = examine()
    assert {"redis", "eviction", "records", "workers"} <= {finding.check for finding in found}
