from __future__ import annotations

import json

from queueops.rdb.keys import instance
from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K

LINE = instance("pause", "app.f")


def pause(doors: Doors, field: str, pk: str = "p1") -> None:
    run(doors.redis, "pause", field, json.dumps({"until": 0, "id": pk}), "ann", "why")


def resume(doors: Doors, field: str, pk: str = "", most: int = 50) -> list[int]:
    answer: list[int] = run(doors.redis, "resume", field, pk, "ann", "why", most)
    return answer


def test_a_queue_starts_again(doors: Doors) -> None:
    pause(doors, "q:default")
    job = doors.enqueue()
    assert resume(doors, "q:default") == [1, 0, 0]
    assert (doors.start() or ("",))[0] == job
    assert "queue.resumed" in doors.log()


def test_a_resumed_queue_rings_an_idle_worker(doors: Doors) -> None:
    pause(doors, "q:default")
    doors.claim(worker="idle")
    doors.enqueue()
    doors.redis.delete(K.of("bell", "idle"))
    doors.claim(worker="idle")
    resume(doors, "q:default")
    assert doors.redis.llen(K.of("bell", "idle")) == 1


def test_the_line_of_a_function_comes_in_oldest_first_and_bounded(doors: Doors) -> None:
    jobs = [doors.enqueue() for _ in range(7)]
    pause(doors, "f:app.f")
    assert doors.start() is None
    assert doors.line(LINE) == jobs
    assert resume(doors, "f:app.f", most=5) == [1, 5, 2]
    assert doors.queued() == jobs[:5]
    assert resume(doors, "f:app.f", most=5) == [0, 2, 0]
    assert doors.totals()["woken"] == 7
    assert {doors.field(job, "status") for job in jobs} == {"queued"}
    assert not doors.redis.exists(K.of("parked", "default"))


def test_another_record_in_the_same_place_stays(doors: Doors) -> None:
    pause(doors, "q:default", "new")
    assert resume(doors, "q:default", "old")[0] == 0
    doors.enqueue()
    assert doors.start() is None


def test_a_record_that_cannot_be_read_can_be_taken_away(doors: Doors) -> None:
    doors.redis.hset(K.static("paused"), "q:default", "not json")
    assert resume(doors, "q:default", "p1")[0] == 1


def test_resume_all_leaves_a_queue_paused_by_name(doors: Doors) -> None:
    pause(doors, "q:a")
    pause(doors, "all")
    doors.enqueue(queue="a")
    doors.enqueue(queue="b")
    assert doors.start("a", "b") is None
    resume(doors, "all")
    assert doors.claim("a", "b", idle=False).queue == "b"
    assert doors.start("a", "b") is None


def test_a_long_line_runs_in_the_order_of_arrival_between_older_and_younger_jobs(doors: Doors) -> None:
    older = [doors.enqueue(function="app.g") for _ in range(2)]
    line = [doors.enqueue() for _ in range(170)]
    pause(doors, "f:app.f")
    # parks the line, which stands behind the older ones
    assert [doors.start()[0] for _ in older] == older  # type: ignore[index]
    assert doors.start() is None
    late = doors.enqueue(function="app.g")
    assert doors.redis.zcard(K.of("line", LINE)) == 170
    resume(doors, "f:app.f")
    ran = []
    while found := doors.start():
        ran.append(found[0])
        doors.settle(found[1])
    assert ran == [*line, late]


def test_so_much_is_let_in_and_no_more(doors: Doors) -> None:
    line = [doors.enqueue() for _ in range(1100)]
    pause(doors, "f:app.f")
    while doors.redis.zcard(K.of("line", LINE)) < 1100:
        doors.claim(idle=False)
    resume(doors, "f:app.f")
    for _ in range(30):
        resume(doors, "f:app.f")
    assert doors.queued() == line[:1000]
    assert doors.redis.zcard(K.of("line", LINE)) == 100
    doors.redis.ltrim(K.of("rq_queue", "default"), 500, -1)
    resume(doors, "f:app.f", most=200)
    assert doors.queued() == line[500:]
