from __future__ import annotations

from queueops import RateLimiter
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K, claim

RATE = claim("rate", "mail", "ann", n=2, per=60)


def limiter(doors: Doors) -> RateLimiter:
    return RateLimiter("mail", 2, 60, "ann", connection=doors.redis)


def test_jobs_and_hits_share_one_limit(doors: Doors) -> None:
    assert limiter(doors).hit()
    doors.enqueue(RATE)
    waits = doors.enqueue(RATE)
    assert doors.start() and doors.start() is None
    assert doors.line(RATE["i"]) == [waits]
    refused = limiter(doors).hit()
    assert not refused and 30 < refused.retry_after <= 60


def test_a_hit_does_not_pass_a_waiting_job(doors: Doors) -> None:
    assert limiter(doors).hit() and limiter(doors).hit()
    job = doors.enqueue(RATE)
    assert doors.start() is None
    doors.redis.delete(K.of("holders", RATE["i"]))
    # the job is let in first, one place is left
    assert limiter(doors).hit()
    assert doors.queued() == [job]
    assert not limiter(doors).hit()
    assert doors.start()


def test_a_repeated_request_is_charged_once(doors: Doors) -> None:
    text = limiter(doors)._claim.encoded()
    assert [run(doors.redis, "primitive_hit", text, "same") for _ in range(3)] == [[1, b"0"]] * 3
    assert doors.redis.zcard(K.of("holders", RATE["i"])) == 1
