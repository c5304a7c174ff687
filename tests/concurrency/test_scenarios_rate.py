"""SCENARIOS.md, Rate: jobs under rates, with a clock that the test moves."""

from __future__ import annotations

import json
from typing import Any

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim


def status(doors: Doors, job: str) -> str | None:
    return doors.field(job, "status")


def run_one(doors: Doors, *claims: Any) -> None:
    doors.enqueue(*claims)
    found = doors.start()
    assert found
    doors.settle(found[1])


def test_scenario_01_three_a_minute_from_the_first_hit(doors: Doors, clock: Any) -> None:
    rate = claim("rate", "mail", n=3, per=60, s="window")
    for _ in range(3):
        doors.enqueue(rate)
        started = doors.start()
        assert started
        doors.settle(started[1])
        clock.advance(1)
    fourth = doors.enqueue(rate)
    assert doors.start() is None  # t = 3
    clock.advance(56.999)
    assert doors.start() is None  # t = 59.999
    clock.advance(0.001)
    found = doors.start()
    assert found
    assert found[0] == fourth  # t = 60.000


def test_scenario_02_a_refused_job_comes_back_when_the_window_ends_its_attempts_unchanged(
    doors: Doors, clock: Any
) -> None:
    rate = claim("rate", "mail", n=1, per=60, s="window")
    run_one(doors, rate)
    clock.advance(10)
    second = doors.enqueue(rate)
    assert doors.start() is None
    assert status(doors, second) == "scheduled"
    assert doors.field(second, "qo_attempts") is None
    due = doors.redis.zscore(K.static("pump"), rate["i"])
    assert due == clock.now + 50_000_000
    clock.advance(50)
    found = doors.start()
    assert found
    assert found[0] == second
    assert doors.field(second, "qo_attempts") == "1"


def test_scenario_06_a_refusal_by_one_limit_charges_no_other(doors: Doors, clock: Any) -> None:
    wide, narrow = claim("rate", "all", n=10, per=60), claim("rate", "tenant", n=1, per=60)
    for _ in range(5):
        doors.enqueue(wide, narrow)
    assert doors.start()
    assert doors.start() is None
    assert doors.redis.zcard(K.of("holders", wide["i"])) == 1
    for _ in range(9):
        doors.enqueue(wide)
        assert doors.start()
    doors.enqueue(wide)
    assert doors.start() is None


def test_scenario_10_paused_while_limited(doors: Doors, clock: Any) -> None:
    rate = claim("rate", "mail", n=2, per=60)
    jobs = [doors.enqueue(rate) for _ in range(6)]
    for _ in range(2):
        found = doors.start()
        assert found
        doors.settle(found[1])
    assert doors.start() is None
    run(doors.redis, "pause", "q:default", '{"until": 0, "id": "1"}', "ann", "upgrade")
    clock.advance(61)
    assert doors.start() is None
    assert sum(status(doors, job) in ("scheduled", "queued") for job in jobs) == 4
    run(doors.redis, "resume", "q:default", "", "ann", "done", 100)
    assert [bool(doors.start()) for _ in range(3)] == [True, True, False]
    # the limit is taken away: the rest is let in at once
    run(doors.redis, "limit", "set", rate["c"], json.dumps({"limit": 100, "until": 0}), "ann", "x", rate["i"])
    assert [bool(doors.start()) for _ in range(3)] == [True, True, False]


def test_scenario_11_a_rate_is_not_a_limit_on_how_many_run_at_once(doors: Doors, clock: Any) -> None:
    """Five a minute, two minutes each, twenty workers."""

    def most_at_once(*claims: Any) -> int:
        for _ in range(20):
            doors.enqueue(*claims)
        running: list[tuple[str, int]] = []
        most = 0
        for _ in range(60):
            for token, ends in list(running):
                if ends <= clock.now:
                    doors.settle(token)
                    running.remove((token, ends))
            while len(running) < 20 and (found := doors.start(span=600)):
                running.append((found[1], clock.now + 120_000_000))
            most = max(most, len(running))
            if not running and not doors.queued() and not doors.redis.zcard(K.of("parked", "default")):
                break
            clock.advance(10)
        assert not running
        return most

    rate = claim("rate", "api", n=5, per=60)
    assert most_at_once(rate) >= 6
    assert most_at_once(rate, claim("semaphore", "api", n=5)) == 5
