"""Doors that meet keys of another type: half a step loses no job, and what can be worked out again is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from queueops.rdb import doors as door
from queueops.rdb import keys, mending
from queueops.rdb.client import Server
from queueops.rdb.doors import tick
from queueops.rdb.keys import FAMILIES, PER_INSTANCE, PER_QUEUE, STATIC, TYPES
from queueops.rdb.scripts import SCHEMA, Unreadable, run, run_as_is
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")
OURS = [name for name in STATIC if name in TYPES and not name.startswith("rq_") and name not in ("clock", "epoch")]
KEYS = (
    *(K.static(name) for name in OURS),
    *(K.of(name, "default") for name in PER_QUEUE),
    *(K.of(name, LOCK["i"]) for name in PER_INSTANCE),
)
# who runs must know that it does: what held its lease is gone
LEASES = [K.static("leases"), K.static("lease_ends"), K.static("running")]


def plant(doors: Doors, key: str) -> None:
    """A string, or a list where a string is due."""
    doors.redis.delete(key)
    if key in (K.static(name) for name in OURS if TYPES[name] == "string") or key.startswith(K.of("callers_claim", "")):
        doors.redis.rpush(key, "planted")
    else:
        doors.redis.set(key, "planted")


def drain(doors: Doors, most: int = 20) -> list[str]:
    """Run all that may run, as a worker would."""
    done = []
    for _ in range(most):
        started = doors.start()
        if started is None and doors.redis.exists(K.static("epoch")):
            break
        if started is None:
            run(doors.redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")
            continue
        done.append(started[0])
        doors.settle(started[1], job=started[0])
    return done


def test_each_key_has_the_type_that_its_comment_says() -> None:
    source = Path(keys.__file__).read_text("utf-8")
    tables = source[source.index("STATIC = {") : source.index("_TYPES = {")]
    told = dict(re.findall(r'^    "(\w+)": f?"[^"]*",\s*# (string|hash|zset|set|list|stream)\b', tables, re.M))
    assert len(told) > 50
    assert {name: TYPES.get(name) for name in told} == told
    assert not {*STATIC, *FAMILIES} - TYPES.keys() - {"snapshot_channel", "aside"}


@pytest.mark.parametrize("key", KEYS)
def test_a_claim_and_a_settle_go_on(doors: Doors, key: str) -> None:
    jobs = [doors.enqueue(LOCK), doors.enqueue(LOCK), doors.enqueue()]
    first = doors.start()
    assert first and first[0] == jobs[0]
    assert (doors.start() or [""])[0] == jobs[2], "the second waits for the lock"
    plant(doors, key)
    late = doors.enqueue()
    found = drain(doors)
    assert late in found and (jobs[1] not in found or key.endswith(LOCK["i"]))
    plant(doors, key)
    answer = doors.settle(first[1], job=first[0], commands=[("HSET", K.of("rq_job", first[0]), "status", "finished")])
    assert answer.code == ("LOST" if key == K.static("leases") else "OK")
    assert doors.field(first[0], "status") == ("started" if key == K.static("leases") else "finished")
    assert jobs[1] in [*found, *drain(doors)] or key == K.static("leases")
    mending.mend(doors.redis, instances=[LOCK["i"]])
    assert mending.unreadable(doors.redis) == ([], [])


@pytest.mark.parametrize("key", [key for key in KEYS if key not in LEASES])
def test_a_crash_goes_on(doors: Doors, key: str) -> None:
    job, waiter = doors.enqueue(LOCK), doors.enqueue(LOCK)
    started = doors.start()
    assert started and doors.start() is None
    doors.redis.zadd(K.static("lease_ends"), {started[1]: 1})
    plant(doors, key)
    tick(Server("default", doors.redis, ("default",)))
    again = drain(doors)
    assert sorted(again) == sorted([job, waiter])


@pytest.mark.parametrize("key", KEYS)
def test_an_enqueue_goes_on(doors: Doors, key: str) -> None:
    plant(doors, key)
    jobs = [doors.enqueue(LOCK), doors.enqueue(mode="schedule", due="+0"), doors.enqueue(ttl=60)]
    assert doors.answer and doors.answer.code == "OK"
    assert sorted(drain(doors)) == sorted(jobs)


@pytest.mark.parametrize("key", KEYS)
def test_adopting_goes_on(doors: Doors, key: str) -> None:
    job = doors.enqueue(controlled=False)
    _, token = doors.start() or ("", "")
    if key in LEASES:
        return
    plant(doors, key)
    if door.adopt(doors.redis, token, json.dumps([LOCK]), "app.f", "{}", 30, False) == "TAKEN":
        assert doors.settle(token, job=job).code == "OK"
    else:
        assert drain(doors) == [job]


def test_live_leases_are_known_again(doors: Doors) -> None:
    job = doors.enqueue(LOCK)
    _, token = doors.start() or ("", "")
    for name in ("lease_ends", "running", "instances"):
        plant(doors, K.static(name))
    assert len(mending.mend(doors.redis)) == 3
    assert doors.redis.zscore(K.static("lease_ends"), token)
    assert doors.redis.hget(K.static("running"), job) == token.encode()
    assert doors.redis.zscore(K.static("instances"), LOCK["i"])
    assert run(doors.redis, "renew", token, 60, "", "0")[0] == b"OK"


def test_parked_waiting_and_quarantined_jobs_are_known_again(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    parked = doors.enqueue(LOCK)
    assert doors.start() is None
    queued, bad = doors.enqueue(), doors.enqueue(mapping={"qo_claims": "{nonsense"})
    run(doors.redis, "quarantine", bad, "ann", "because")
    for name in ("parked", "waiting", "quarantined"):
        plant(doors, K.of(name, "default"))
    mending.mend(doors.redis)
    assert doors.redis.zrange(K.of("parked", "default"), 0, -1) == [parked.encode()]
    assert set(doors.redis.zrange(K.of("waiting", "default"), 0, -1)) == {parked.encode(), queued.encode()}
    assert doors.redis.zrange(K.of("quarantined", "default"), 0, -1) == [bad.encode()]
    assert doors.redis.get(K.of("aside", K.of("parked", "default"))) == b"planted"
    assert doors.log().count("record.set_aside") == 3


@pytest.mark.parametrize("name", ["paused", "isolated", "overrides"])
def test_settings_are_mirrored_again(doors: Doors, name: str) -> None:
    plant(doors, K.static(name))
    mending.mend(doors.redis)
    assert not doors.redis.exists(K.static("epoch"))


def test_a_queue_that_rq_cannot_read_holds_up_no_other(doors: Doors) -> None:
    doors.redis.set(K.of("rq_queue", "broken"), "x")
    doors.redis.zadd(K.static("queues"), {"broken": 1})
    job = doors.enqueue()
    assert (doors.start("broken", "default") or [""])[0] == job
    with pytest.raises(Unreadable, match="rq:queue:broken holds a string, not a list"):
        doors.claim("broken", "default")


@pytest.mark.parametrize("family", ["rq_scheduled", "rq_wip"])
def test_an_index_of_rq_is_named_and_no_job_is_lost(doors: Doors, family: str) -> None:
    job = doors.enqueue()
    doors.redis.set(K.of(family, "default"), "x")
    with pytest.raises(Unreadable, match=f"{K.of(family, 'default')} holds a string, not a zset"):
        for _ in range(2):
            doors.claim()
    doors.redis.delete(K.of(family, "default"))
    assert doors.field(job, "status") in ("queued", "started")
    assert doors.redis.hlen(K.static("leases")) or drain(doors) == [job]


def test_a_job_that_cannot_be_started_goes_to_quarantine_and_the_next_one_runs(doors: Doors) -> None:
    job, good = doors.enqueue(), doors.enqueue()
    bad = claim("semaphore", "disk", "#" + "0" * 64, n=2) | {"t": {}, "i": "S:disk\x1f#0"}
    doors.redis.hset(K.of("rq_job", job), "qo_claims", json.dumps([bad]))
    assert drain(doors) == [good]
    assert "its records cannot be read" in (doors.field(job, "qo_quarantined") or "")


def test_a_lease_of_what_is_no_job_keeps_no_other_from_ending(doors: Doors) -> None:
    bad, good = doors.enqueue(), doors.enqueue()
    for _ in range(2):
        assert doors.start()
    doors.redis.set(K.of("rq_job", bad), "x")
    for token in doors.redis.hkeys(K.static("leases")):
        doors.redis.zadd(K.static("lease_ends"), {token: 1})
    assert drain(doors) == [good]
    assert not doors.redis.hlen(K.static("leases")) and not doors.redis.zcard(K.static("lease_ends"))


@pytest.mark.parametrize("text", ["garbage", "1e999", "-"])
def test_a_layout_that_is_no_number(doors: Doors, text: str) -> None:
    doors.redis.set(K.static("schema"), text)
    job = doors.enqueue()
    assert drain(doors) == [job]


def test_nothing_is_moved_where_all_is_well(doors: Doors) -> None:
    doors.enqueue(LOCK)
    doors.start()
    assert mending.mend(doors.redis, deep=True) == [] and mending.unreadable(doors.redis) == ([], [])
    doors.redis.set(K.static("pump"), "x")
    assert mending.unreadable(doors.redis)[0] == [(K.static("pump"), "string", "zset")]
    with pytest.raises(Unreadable):
        run_as_is(doors.redis, "tick", '["default"]', "")
