from __future__ import annotations

import json
from typing import Any

from queueops.rdb.keys import SEP
from queueops.rdb.scripts import run
from tests.scripts.kit import K

S = 1_000_000


def listed(redis: Any, **more: Any) -> list[Any]:
    options = {"all": 1, "queue": "", "search": "", "looked": 100, "offset": 0, "size": 10, "minutes": 3, "whole": 0,
               "active": 1, "plus": ["accepted", "replayed"]}  # fmt: skip
    found: list[Any] = run(redis, "list_functions", json.dumps({**options, **more}))
    return found


def put(redis: Any, queue: str, function: str, ago: int, **counts: Any) -> None:
    """Counts of the minute that began so many minutes ago."""
    minute = int(redis.time()[0]) // 60 * 60 - ago * 60
    redis.hset(K.of("minute", f"{minute}{SEP}{queue}{SEP}{function}"), mapping=counts)
    redis.zadd(K.static("functions"), {f"{queue}{SEP}{function}": minute * S}, gt=True)


def names(answer: list[Any]) -> list[str]:
    return [f"{row[0].decode()}/{row[1].decode()}" for row in answer[4]]


def test_sums_and_series(redis: Any) -> None:
    redis.set(K.static("epoch"), "e")
    redis.set(K.static("counting_since"), 7)
    put(redis, "q", "app.f", 1, accepted=2, replayed=1, w10=4, wt="2000", broken="x", negative=-5)
    put(redis, "q", "app.f", 0, accepted=3, completed=5, w10=1)
    now, epoch, counting, matching, (row,) = listed(redis)
    assert int(now) > 1_700_000_000 * S and (epoch, counting, matching) == (b"e", b"7", 1)
    queue, function, flat, arrived, completed = row
    sums = dict(zip(flat[::2], flat[1::2], strict=True))
    assert (queue, function) == (b"q", b"app.f")
    assert sums == {b"accepted": b"5", b"replayed": b"1", b"w10": b"5", b"wt": b"2000", b"broken": b"0",
                    b"negative": b"0", b"completed": b"5"}  # fmt: skip
    # the minute may have turned meanwhile
    assert (arrived, completed) in (([-1, 3, 3], [-1, 0, 5]), ([3, 3, -1], [0, 5, -1]))


def test_which_functions(redis: Any) -> None:
    put(redis, "a", "app.Mail", 0, accepted=1)
    put(redis, "b", "app.mail", 1, accepted=1)
    put(redis, "", "app.other", 1, accepted=1)
    put(redis, "a", "app.old", 50, accepted=1)
    redis.zadd(K.static("functions"), {"no separator": 10**16})
    assert names(listed(redis, search="mail")) == ["a/app.Mail", "b/app.mail"]
    assert names(listed(redis, all=0, queue="a")) == ["a/app.Mail"]
    assert names(listed(redis, all=0, queue="")) == ["/app.other"]
    assert names(listed(redis, all=0, queue="a", active=0)) == ["a/app.Mail", "a/app.old"]
    part = listed(redis, active=0, offset=1, size=1)
    assert part[3] == 4 and len(part[4]) == 1
    assert names(listed(redis, looked=1)) == []


def test_keys_of_another_type_are_as_missing(redis: Any) -> None:
    put(redis, "q", "app.f", 0, accepted=1)
    minute = int(redis.time()[0]) // 60 * 60
    for at in (minute, minute + 60):
        redis.delete(K.of("minute", f"{at}{SEP}q{SEP}app.f"))
        redis.set(K.of("minute", f"{at}{SEP}q{SEP}app.f"), "text")
    (row,) = listed(redis)[4]
    assert row[2:] == [[], [-1, -1, -1], [-1, -1, -1]]
    for name in ("functions", "epoch"):
        redis.delete(K.static(name))
        redis.lpush(K.static(name), "text")
    assert listed(redis)[1:] == [b"", b"", 0, []]
