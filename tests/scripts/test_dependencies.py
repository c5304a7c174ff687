from __future__ import annotations

import json
from typing import Any

from queueops.rdb.keys import SEP
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


def minute(redis: Any) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for key in redis.scan_iter(K.of("minute", f"*{SEP}default{SEP}app.f")):
        found.update(redis.hgetall(key))
        assert 0 < redis.ttl(key) <= 10860
    return {field: value for field, value in found.items() if field.startswith(b"d")}


def test_what_a_run_used_is_added_to_its_functions_minute(doors: Doors, redis: Any) -> None:
    doors.enqueue()
    _, token = doors.start() or ("", "")
    told = json.dumps([["courier", 3, 1, 4500, {"0": 2, "7": 1}], ["printer", 1, 0, 10, {"0": 1}]])
    assert run(redis, "dependencies", token, told) == 1
    fields = {
        "dn": b"3", "de": b"1", "dt": b"4500", "d0": b"2", "d7": b"1",
    }  # fmt: skip
    found = minute(redis)
    assert {f"{kind}{SEP}courier".encode(): n for kind, n in fields.items()}.items() <= found.items()
    assert found[f"dn{SEP}printer".encode()] == b"1" and f"de{SEP}printer".encode() not in found
    assert found[b"dk"] == b"2"


def test_nothing_without_a_lease(doors: Doors, redis: Any) -> None:
    assert run(redis, "dependencies", "nobody", "[]") == 0
    assert minute(redis) == {}


def test_names_are_bounded(doors: Doors, redis: Any) -> None:
    doors.enqueue()
    _, token = doors.start() or ("", "")
    for n in range(30):
        run(redis, "dependencies", token, json.dumps([[f"n{n}", 1, 0, 5, {"0": 1}]]))
    names = [field for field in minute(redis) if field.startswith(b"dn")]
    assert len(names) == 21 and minute(redis)[f"dn{SEP}…".encode()] == b"10"


def test_a_key_of_another_type_stops_nothing(doors: Doors, redis: Any) -> None:
    doors.enqueue()
    _, token = doors.start() or ("", "")
    for key in redis.scan_iter(K.of("minute", "*")):
        redis.delete(key)
        redis.set(key, "text")
    assert run(redis, "dependencies", token, json.dumps([["courier", 1, 0, 5, {"0": 1}]])) == 1
