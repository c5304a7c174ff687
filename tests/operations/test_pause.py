"""C38 and SCENARIOS 51, 52 at the doors: whoever claims, the pause holds."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from queueops import mirror
from queueops.models import Intervention, Pause
from queueops.operations import OperationError, UnknownName, pause, resume
from queueops.operations.recover import recover
from queueops.rdb.client import Server
from tests.scripts.kit import Doors, K


def test_leaves_an_intervention_with_before_and_after(doors: Doors, who: dict[str, str]) -> None:
    done = pause("queue", "default", seconds=600, **who)
    row = Intervention.objects.get()
    assert (row.verb, row.target, row.actor, row.reason) == ("pause", "queue default", "ann", "because")
    assert (row.state, row.ends) == ("in_force", done.setting.until)
    assert row.before == {}
    assert row.after["name"] == "default"
    again = pause("queue", "default", actor="bob", reason="longer")
    assert again.intervention.before["by"] == "ann"
    row.refresh_from_db()
    assert (row.state, row.ended_by) == ("done", "bob")
    resume("queue", "default", **who)
    assert list(Intervention.objects.order_by("id").values_list("verb", "state")) == [
        ("pause", "done"),
        ("pause", "done"),
        ("resume", "done"),
    ]


def test_c38_zero_starts_after_it_returns_while_workers_claim(doors: Doors, who: dict[str, str]) -> None:
    for _ in range(300):
        doors.enqueue()
    returned: list[float] = []
    starts: list[float] = []

    def worker(name: str) -> None:
        own = Doors(doors.redis)
        while not returned or time.monotonic() < returned[0] + 0.2:
            began = time.monotonic()
            found = own.start(worker=name)
            if found:
                starts.append(began)
                own.settle(found[1])

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(worker, f"w{n}") for n in range(4)]
        while len(starts) < 20:
            time.sleep(0.001)
        pause("queue", "default", **who)
        returned.append(time.monotonic())
        for each in running:
            each.result()
    # a claim that began after the call returned started nothing
    assert [began for began in starts if began > returned[0]] == []
    assert doors.queued()


def test_c38_pause_twice_resume_once(doors: Doors, who: dict[str, str]) -> None:
    doors.enqueue()
    pause("queue", "default", **who)
    pause("queue", "default", **who)
    assert doors.start() is None
    resume("queue", "default", **who)
    assert doors.start()
    with pytest.raises(OperationError, match="not paused itself"):
        resume("queue", "default", **who)


def test_51_resume_all_keeps_what_is_paused_by_name(doors: Doors, who: dict[str, str]) -> None:
    doors.enqueue(queue="high")
    doors.enqueue(queue="low")
    doors.enqueue(queue="default", function="app.g")
    pause("queue", "high", **who)
    doors.redis.zadd(K.static("functions"), {"default\x1fapp.g": 1})
    pause("function", "app.g", **who)
    pause("all", **who)
    assert doors.start("high", "default", "low") is None
    resume("all", **who)
    assert doors.claim("high", "default", "low", idle=False).queue == "low"
    assert doors.start("high", "default", "low") is None
    assert set(Pause.objects.filter(state="in_force").values_list("kind", flat=True)) == {"queue", "function"}


def test_51_a_timed_pause_lifts_itself(doors: Doors, who: dict[str, str]) -> None:
    jobs = [doors.enqueue() for _ in range(3)]
    doors.redis.zadd(K.static("functions"), {"default\x1fapp.f": 1})
    pause("function", "app.f", seconds=2, **who)
    assert doors.start() is None
    time.sleep(2.05)
    assert recover().ended == 1
    assert (doors.start() or ("",))[0] == jobs[0]
    assert Pause.objects.get().state == "lifted"
    assert Intervention.objects.get().state == "done"
    assert not doors.redis.exists(K.static("paused"))


def test_52_due_scheduled_jobs_wait_and_running_ones_finish(doors: Doors, who: dict[str, str]) -> None:
    doors.enqueue()
    running = doors.start() or ("", "")
    due = doors.enqueue(mode="schedule", due=int(time.time()) - 1, mapping={"status": "scheduled"})
    pause("queue", "default", **who)
    assert doors.start() is None
    assert doors.settle(running[1]).outcome == "completed"
    resume("queue", "default", **who)
    assert (doors.start() or ("",))[0] == due


def test_c38_an_emptied_redis_gets_its_pauses_back(doors: Doors, server: Server, who: dict[str, str]) -> None:
    pause("queue", "default", **who)
    doors.redis.flushall()
    doors.enqueue()
    assert doors.claim(idle=False).why == "MIRROR_MISSING"
    mirror.rebuild(server)
    assert doors.start() is None


def test_pausing_on_an_emptied_redis_keeps_the_older_pauses(doors: Doors, who: dict[str, str]) -> None:
    pause("queue", "low", **who)
    doors.redis.flushall()
    pause("queue", "default", **who)
    assert doors.redis.hlen(K.static("paused")) == 2


def test_an_unknown_queue_lists_close_names(doors: Doors, who: dict[str, str]) -> None:
    with pytest.raises(UnknownName, match="Close: 'default'") as error:
        pause("queue", "defualt", **who)
    assert error.value.matches[0] == "default"
    assert not Intervention.objects.exists()
    assert not Pause.objects.exists()


@pytest.mark.parametrize("name", ["a/b", "q+z", "キュー", "new\nline", "<img src=x>", "%s{0}"])
def test_names_are_taken_as_they_are(doors: Doors, who: dict[str, str], name: str) -> None:
    doors.enqueue(queue=name)
    doors.enqueue(queue="other")
    pause("queue", name, **who)
    assert doors.claim(name, "other", idle=False).queue == "other"
    assert doors.start(name, "other") is None
    resume("queue", name, **who)
    assert doors.start(name)


def test_a_queue_without_a_name_is_not_the_same_as_everything(doors: Doors, who: dict[str, str]) -> None:
    doors.redis.zadd(K.static("queues"), {"": 1})
    pause("queue", "", **who)
    doors.enqueue()
    assert doors.start()
    resume("queue", "", **who)


@pytest.mark.parametrize("name", ["a\x1fb", "a\x00b", "x" * 601])
def test_a_name_that_cannot_be_stored_exactly_is_refused(doors: Doors, who: dict[str, str], name: str) -> None:
    with pytest.raises(OperationError):
        pause("queue", name, **who)


def test_a_function_that_has_not_run_yet_can_be_paused_but_a_typing_error_cannot(
    doors: Doors, who: dict[str, str]
) -> None:
    pause("function", "queueops.rdb.scripts.run", **who)
    doors.enqueue(function="shop.tasks.send_mail")
    with pytest.raises(UnknownName, match=r"shop\.tasks\.send_mail"):
        pause("function", "shop.tasks.send_mial", **who)
    with pytest.raises(UnknownName):
        pause("function", "queueops.rdb.scripts.no_such_thing", **who)


@pytest.mark.parametrize("reason", ["", "   ", None])
def test_a_reason_is_required(doors: Doors, reason: Any) -> None:
    with pytest.raises(OperationError, match="reason"):
        pause("queue", "default", actor="ann", reason=reason)
    assert not doors.redis.exists(K.static("paused"))


def test_two_operators_at_once_leave_one_pause_in_force(doors: Doors, who: dict[str, str]) -> None:
    first = pause("queue", "default", actor="ann", reason="a").setting
    second = pause("queue", "default", actor="bob", reason="b").setting
    # the scripts ran in the other order than the rows were written
    record = json.loads(doors.redis.hget(K.static("paused"), "q:default"))
    doors.redis.hset(K.static("paused"), "q:default", json.dumps({**record, "id": first.pk}))
    resume("queue", "default", **who)
    assert not doors.redis.exists(K.static("paused"))
    second.refresh_from_db()
    assert second.state == "lifted"


def test_a_script_that_fails_leaves_nothing_in_force(
    doors: Doors, who: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pause("queue", "default", actor="bob", reason="earlier")
    from queueops.operations import pauses

    def broken(*args: object) -> None:
        raise ConnectionError("gone away")

    monkeypatch.setattr(pauses, "run", broken)
    with pytest.raises(ConnectionError):
        pause("queue", "default", **who)
    monkeypatch.undo()
    failed = Intervention.objects.get(actor="ann")
    assert (failed.state, failed.error) == ("failed", "gone away")
    assert Pause.objects.get(state="in_force").actor == "bob"
    assert Intervention.objects.get(actor="bob").state == "in_force"
    recover()
    assert json.loads(doors.redis.hget(K.static("paused"), "q:default"))["by"] == "bob"
