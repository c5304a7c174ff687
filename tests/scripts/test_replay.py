from __future__ import annotations

import json
from typing import Any

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

LOCK = claim("lock", "book", "1")


def replay(doors: Doors, job: str, new: str = "new", *flat: Any) -> tuple[str, str]:
    outcome, why, _ = run(doors.redis, "replay", job, new, "ann", "fixed", "2025-01-01T00:00:00.000000Z", "", *flat)
    return outcome.decode(), why.decode()


def failed(doors: Doors, *claims: dict[str, Any], **mapping: Any) -> str:
    """A job in quarantine after its third attempt."""
    fields = {
        "qo_attempts": 2,
        "retries_left": 1,
        "number_of_retries": 2,
        "meta": b"m",
        "created_at": "then",
        **mapping,
    }
    job = doors.enqueue(*claims, mapping=fields)
    _, token = doors.start() or ("", "")
    doors.settle(token, "failed", fingerprint="abc", error="boom")
    assert doors.redis.zscore(K.of("quarantined", "default"), job)
    return job


def test_runs_again_under_a_new_id_with_everything_it_needs(doors: Doors) -> None:
    job = failed(doors, LOCK, success_callback_name="app.cb", result_ttl=50)
    assert replay(doors, job) == ("done", "new")
    kept = ("data", "meta", "created_at", "timeout", "qo_claims", "qo_func", "success_callback_name", "result_ttl")
    for name in kept:
        assert doors.field("new", name) == doors.field(job, name), name
    assert doors.field("new", "qo_attempts") == "3"
    assert doors.field("new", "retries_left") == "3"
    for name in ("started_at", "worker_name", "qo_token", "qo_crashes", "qo_quarantined", "number_of_retries"):
        assert doors.field("new", name) is None, name
    assert doors.field("new", "qo_replay_of") == job
    assert doors.field("new", "qo_replays") == "1"
    assert doors.queued() == ["new"]
    assert doors.redis.zscore(K.of("waiting", "default"), "new")
    assert doors.totals()["replayed"] == 1
    assert (doors.start() or ("",))[0] == "new"


def test_the_original_keeps_a_link_for_a_day_and_leaves_quarantine(doors: Doors) -> None:
    job = failed(doors)
    replay(doors, job)
    assert doors.field(job, "qo_replayed_as") == "new"
    assert 86000 < doors.redis.ttl(K.of("rq_job", job)) <= 86400
    for family in ("quarantined", "rq_failed"):
        assert doors.redis.zscore(K.of(family, "default"), job) is None
    assert not doors.redis.hexists(K.static("quarantine_info"), job)
    assert doors.redis.sismember(K.static("quarantine_todo"), job)


def test_repeating_the_call_does_nothing_more(doors: Doors) -> None:
    job = failed(doors)
    assert replay(doors, job) == replay(doors, job) == ("done", "new")
    assert doors.queued() == ["new"]
    assert doors.totals()["replayed"] == 1
    doors.redis.delete(K.of("rq_job", "new"))
    assert replay(doors, job) == ("done", "new")
    assert doors.queued() == ["new"]


def test_a_second_operator_is_told(doors: Doors) -> None:
    job = failed(doors)
    replay(doors, job)
    assert replay(doors, job, "newer") == ("skipped", "already replayed as new")


def test_failing_again_it_comes_back_with_its_count(doors: Doors) -> None:
    job = failed(doors)
    replay(doors, job, "r1")
    _, token = doors.start() or ("", "")
    doors.settle(token, "failed")
    assert json.loads(doors.redis.hget(K.static("quarantine_info"), "r1"))["replays"] == 1
    replay(doors, "r1", "r2")
    assert doors.field("r2", "qo_replays") == "2"
    assert doors.field("r2", "qo_replay_of") == "r1"


def test_dependents_wait_for_the_replay_instead(doors: Doors) -> None:
    job = failed(doors)
    doors.redis.sadd(K.of("rq_job", f"{job}:dependents"), "child")
    doors.redis.sadd(K.of("rq_job", ":child:dependencies"), job)
    doors.redis.hset(K.of("rq_job", "child"), mapping={"dependency_ids": json.dumps([job]), "dependency_id": job})
    replay(doors, job)
    assert doors.redis.smembers(K.of("rq_job", "new:dependents")) == {b"child"}
    assert doors.redis.smembers(K.of("rq_job", ":child:dependencies")) == {b"new"}
    assert json.loads(doors.field("child", "dependency_ids") or "") == ["new"]


def test_what_is_not_quarantined_is_left_alone(doors: Doors) -> None:
    taken = failed(doors)
    job = doors.enqueue()
    assert replay(doors, job) == ("skipped", "not quarantined: it is queued")
    assert replay(doors, "nobody")[0] == "gone"
    doors.redis.hset(K.of("rq_job", "taken"), "data", "x")
    assert replay(doors, taken, "taken")[0] == "skipped"


def test_a_lost_hash_is_gone_or_restored_from_its_copy(doors: Doors) -> None:
    job = failed(doors)
    copy = [part for pair in doors.redis.hgetall(K.of("rq_job", job)).items() for part in pair]
    doors.redis.flushall()
    fresh = Doors(doors.redis)
    assert replay(fresh, job)[0] == "gone"
    assert replay(fresh, job, "new", *copy) == ("done", "new")
    assert replay(fresh, job, "newer", *copy) == ("skipped", "already replayed as new")
    assert fresh.start() is not None


def test_an_entry_whose_hash_is_gone_leaves_the_list(doors: Doors) -> None:
    job = failed(doors)
    doors.redis.delete(K.of("rq_job", job))
    assert replay(doors, job)[0] == "gone"
    assert not doors.redis.exists(K.of("quarantined", "default"))


def test_a_large_job_and_many_fields(doors: Doors) -> None:
    job = failed(doors, data=b"\x00\xff" * 2_500_000, **{f"f{n}": n for n in range(9000)})
    assert replay(doors, job)[0] == "done"
    assert doors.redis.hstrlen(K.of("rq_job", "new"), "data") == 5_000_000


def test_a_ttl_starts_anew(doors: Doors) -> None:
    job = failed(doors, ttl=100)
    replay(doors, job)
    assert 0 < doors.redis.ttl(K.of("rq_job", "new")) <= 100
    assert doors.redis.zscore(K.static("expiring"), "new")
