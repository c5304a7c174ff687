from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors


def test_only_the_run_itself_may_say_how_far_it_is(doors: Doors) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    assert run(doors.redis, "progress", job, "another", "{}") == 0
    assert run(doors.redis, "progress", job, token, '{"done": 1}') == 1
    assert doors.field(job, "qo_progress") == '{"done": 1}'


def test_a_hash_that_is_gone_does_not_come_back(doors: Doors) -> None:
    assert run(doors.redis, "progress", "gone", "token", "{}") == 0
    assert not doors.redis.exists("rq:job:gone")
