"""Limits, isolations and forced releases: each changes the doors, leaves its row, and can be undone."""

from __future__ import annotations

import json
import time

import pytest

from queueops.models import Intervention, Isolation, Override
from queueops.operations import OperationError, UnknownName, isolate, limit, release, unisolate
from queueops.operations.recover import recover
from queueops.rdb.keys import control_id
from tests.scripts.kit import Doors, K, claim


def publish(doors: Doors, kind: str, name: str, n: int) -> None:
    definition = {"kind": kind, "name": name, "limit": n, "per": 0, "strategy": "sliding", "burst": 0}
    doors.redis.hset(K.static("controls"), control_id(kind, name), json.dumps(definition))


@pytest.fixture
def disk(doors: Doors) -> Doors:
    publish(doors, "semaphore", "disk", 1)
    return doors


def test_raising_a_limit_wakes_waiters_of_every_key(disk: Doors, who: dict[str, str]) -> None:
    for key in ("eu", "us", "a*[b]"):
        for _ in range(3):
            disk.enqueue(claim("semaphore", "disk", key))
    while disk.start():
        pass
    done = limit("disk", 2, **who)
    assert done.woken == 3
    row = Intervention.objects.get()
    assert (row.verb, row.target, row.state) == ("limit", "semaphore:disk", "in_force")
    assert row.before == {"declared": 1}
    assert row.after["limit"] == 2


def test_zero_stops_and_declared_goes_back(disk: Doors, who: dict[str, str]) -> None:
    limit("semaphore:disk", 0, **who)
    job = disk.enqueue(claim("semaphore", "disk"))
    assert disk.start() is None
    assert limit("S:disk", None, **who).woken == 1
    assert (disk.start() or ("",))[0] == job
    assert list(Intervention.objects.values_list("verb", "state").order_by("id")) == [
        ("limit", "done"),
        ("unlimit", "done"),
    ]
    with pytest.raises(OperationError, match="no operator's limit"):
        limit("disk", None, **who)


def test_a_timed_limit_ends_and_its_waiters_come_in(disk: Doors, who: dict[str, str]) -> None:
    limit("disk", 0, seconds=2, **who)
    job = disk.enqueue(claim("semaphore", "disk"))
    assert disk.start() is None
    time.sleep(2.05)
    assert recover().ended == 1
    assert (disk.start() or ("",))[0] == job
    assert not disk.redis.exists(K.static("overrides"))


def test_unknown_and_ambiguous_controls(disk: Doors, who: dict[str, str]) -> None:
    with pytest.raises(UnknownName, match="Close: 'disk'"):
        limit("dsik", 2, **who)
    publish(disk, "rate", "disk", 5)
    with pytest.raises(OperationError, match="semaphore:disk, rate:disk"):
        limit("disk", 2, **who)
    assert limit("rate:disk", 2, **who).setting.name == "R:disk"
    assert Override.objects.count() == 1


@pytest.mark.parametrize("n", [-1, 1.5, True, 10**9])
def test_a_wrong_limit(disk: Doors, who: dict[str, str], n: int) -> None:
    with pytest.raises(OperationError, match="whole number"):
        limit("disk", n, **who)


def test_a_lock_can_only_be_stopped(disk: Doors, who: dict[str, str]) -> None:
    publish(disk, "lock", "book", 1)
    with pytest.raises(OperationError, match="one in at a time"):
        limit("book", 2, **who)
    limit("book", 0, **who)
    disk.enqueue(claim("lock", "book"))
    assert disk.start() is None


def test_isolate_a_function_and_let_it_run_again(doors: Doors, who: dict[str, str]) -> None:
    poison, good = doors.enqueue(function="app.poison"), doors.enqueue(function="app.good")
    isolate("function", "app.poison", **who)
    assert (doors.start() or ("",))[0] == good
    assert doors.redis.zscore(K.of("quarantined", "default"), poison)
    unisolate("function", "app.poison", **who)
    again = doors.enqueue(function="app.poison")
    assert (doors.start() or ("",))[0] == again
    assert [row.verb for row in Intervention.objects.order_by("id")] == ["isolate", "unisolate"]
    assert Isolation.objects.get().state == "lifted"
    with pytest.raises(OperationError, match="not isolated"):
        unisolate("function", "app.poison", **who)


def test_isolate_one_key_of_a_control(disk: Doors, who: dict[str, str]) -> None:
    isolate("key", "disk=a=b", **who)
    bad, good = disk.enqueue(claim("semaphore", "disk", "a=b")), disk.enqueue(claim("semaphore", "disk", "a"))
    assert (disk.start() or ("",))[0] == good
    assert disk.redis.zscore(K.of("quarantined", "default"), bad)
    assert str(Isolation.objects.get()) == "key disk=a=b"


@pytest.mark.parametrize(("kind", "name"), [("error", "no!"), ("key", "disk"), ("queue", "x"), ("function", "a.b.c")])
def test_isolating_what_cannot_be(doors: Doors, who: dict[str, str], kind: str, name: str) -> None:
    with pytest.raises(OperationError):
        isolate(kind, name, **who)


def test_a_timed_isolation_ends(doors: Doors, who: dict[str, str]) -> None:
    isolate("error", "abcdef123", seconds=0.1, **who)
    time.sleep(0.15)
    recover()
    assert not doors.redis.exists(K.static("isolated"))
    assert Intervention.objects.get().state == "done"


def test_release_one_holder_by_the_start_of_its_token(disk: Doors, who: dict[str, str]) -> None:
    first = disk.enqueue(claim("semaphore", "disk", "eu"))
    second = disk.enqueue(claim("semaphore", "disk", "eu"))
    _, token = disk.start() or ("", "")
    assert disk.start() is None
    done = release("disk", "eu", token=token[:8], **who)
    assert done.holders == ((token, first, "w1"),)
    assert (disk.start() or ("",))[0] == second
    row = Intervention.objects.get()
    assert (row.verb, row.target, row.state) == ("release", "semaphore:disk key eu", "done")
    assert row.before["holders"] == 1
    assert row.after["released"] == [{"token": token[:8], "job": first, "worker": "w1"}]


def test_release_all_takes_only_those_who_held_it(disk: Doors, who: dict[str, str]) -> None:
    publish(disk, "semaphore", "disk", 70)
    for _ in range(70):
        disk.enqueue(claim("semaphore", "disk"))
    while disk.start():
        pass
    done = release("disk", all=True, **who)
    assert len(done.holders) == 70
    assert done.left == 0


def test_release_says_what_is_there_instead(disk: Doors, who: dict[str, str]) -> None:
    disk.enqueue(claim("semaphore", "disk", "eu"))
    _, token = disk.start() or ("", "")
    with pytest.raises(OperationError, match="Keys in use: 'eu'"):
        release("disk", all=True, **who)
    with pytest.raises(OperationError, match=f"Tokens here: {token[:8]}"):
        release("disk", "eu", token="0" * 32, **who)
    with pytest.raises(OperationError, match="which holder"):
        release("disk", "eu", **who)
    assert not Intervention.objects.exists()


def test_a_primitive_that_publishes_nothing_can_be_released(doors: Doors, who: dict[str, str]) -> None:
    held = claim("lock", "import")["i"]
    doors.redis.zadd(K.of("holders", held), {"token-of-a-script": 9e15})
    doors.redis.zadd(K.static("instances"), {held: 1})
    assert release("import", all=True, **who).holders == (("token-of-a-script", "", ""),)
