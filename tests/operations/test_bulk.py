"""Quarantine, replay, discard, requeue: C25, C26 in small, and their reports, which add up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.utils import timezone

from queueops.models import Batch, Intervention, QuarantinedJob
from queueops.operations import OperationError, Selection, batches, discard, quarantine, replay, requeue, selection
from queueops.operations.recover import recover
from tests.scripts.kit import Doors, K


def adds_up(result: Any) -> bool:
    return bool(result.done + result.skipped + result.gone + result.left == result.total)


def aside(doors: Doors, count: int, who: dict[str, str], **more: Any) -> list[str]:
    jobs = [doors.enqueue(**more) for _ in range(count)]
    assert quarantine(jobs, **who).done == count
    return jobs


def test_quarantine_reports_each_job(doors: Doors, who: dict[str, str]) -> None:
    running = doors.enqueue()
    doors.start()
    jobs = [doors.enqueue(), doors.enqueue()]
    result = quarantine([*jobs, running, "nobody", jobs[0]], **who)
    assert (result.total, result.done, result.skipped, result.gone) == (4, 2, 1, 1)
    assert adds_up(result)
    assert next(iter(result.reasons)).startswith("running on w1")
    row = Intervention.objects.get()
    assert (row.verb, row.state, row.actor) == ("quarantine", "done", "ann")
    assert row.after["done"] == 2
    assert row.before["job_ids"] == [*jobs, running, "nobody"]


def test_c26_replay_of_a_filter_oldest_first(doors: Doors, who: dict[str, str]) -> None:
    first = aside(doors, 3, who, function="app.a")
    aside(doors, 2, who, function="app.b")
    result = replay(Selection(queue="default", function="app.a"), **who)
    assert (result.total, result.done) == (3, 3)
    assert [doors.field(job, "qo_replay_of") for job in doors.queued()] == first
    assert QuarantinedJob.objects.filter(state="replayed").count() == 3
    assert QuarantinedJob.objects.filter(state="quarantined").count() == 2
    row = Intervention.objects.get(verb="replay")
    assert row.target == "quarantined jobs with queue 'default', function 'app.a'"
    assert row.after["done"] == 3


def test_a_part_of_the_reason_and_everything(doors: Doors, who: dict[str, str]) -> None:
    aside(doors, 2, {"actor": "ann", "reason": "courier DOWN"})
    aside(doors, 1, {"actor": "ann", "reason": "other"})
    assert replay(Selection(reason_like="courier down"), **who).done == 2
    assert replay(Selection(everything=True), **who).done == 1
    assert replay(Selection(everything=True), **who).total == 0


def test_c26_pressed_twice_and_by_two_operators_no_job_runs_twice(doors: Doors, who: dict[str, str]) -> None:
    jobs = aside(doors, 5, who)
    one = batches.start("replay", Selection(everything=True), rate=None, **who)
    two = batches.start("replay", Selection(everything=True), rate=None, actor="bob", reason="me too")
    results = [batches.run(one), batches.run(two)]
    assert [r.done for r in results] == [5, 0]
    assert all(map(adds_up, results))
    assert results[1].skipped == 5
    assert len(doors.queued()) == len(jobs)


def test_c26_some_expire_some_are_taken_meanwhile(doors: Doors, who: dict[str, str]) -> None:
    jobs = aside(doors, 6, who)
    batch = batches.start("replay", Selection(everything=True), rate=None, **who)
    doors.redis.delete(K.of("rq_job", jobs[0]))
    QuarantinedJob.objects.filter(job_id=jobs[0]).update(payload="")
    discard(jobs[1], **who)
    result = batches.run(batch)
    assert (result.done, result.gone, result.total) == (4, 2, 6)
    assert adds_up(result)


def test_c26_killed_in_the_middle_it_is_finished_by_another_process(
    doors: Doors, who: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aside(doors, 10, who)
    batch = batches.start("replay", Selection(everything=True), rate=None, **who)
    step, calls = batches.STEPS["replay"], []

    def dies(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 5:
            raise SystemExit
        return step(*args)

    monkeypatch.setitem(batches.STEPS, "replay", dies)
    with pytest.raises(SystemExit):
        batches.run(batch)
    # four are replayed, none of that is written down
    assert len(doors.queued()) == 4
    monkeypatch.setitem(batches.STEPS, "replay", step)
    assert recover(batch_seconds=10).batch_items == 10
    result = batches.result(batch)
    assert (result.done, result.state) == (10, "done")
    assert len(doors.queued()) == 10
    assert Intervention.objects.get(pk=result.intervention.pk).state == "done"


def test_a_batch_that_somebody_works_on_is_not_taken_over(doors: Doors, who: dict[str, str]) -> None:
    aside(doors, 2, who)
    batch = batches.start("replay", Selection(everything=True), rate=None, **who)
    assert batches._take(batch, "other")
    assert batches.work(seconds=5) == 0
    Batch.objects.update(owned_until=timezone.now() - timezone.timedelta(seconds=1))
    assert batches.work(seconds=5) == 2


def test_background_work_is_done_by_the_monitor_and_can_be_stopped(doors: Doors, who: dict[str, str]) -> None:
    aside(doors, 4, who)
    result = replay(Selection(everything=True), background=True, **who)
    assert (result.left, result.intervention.state) == (4, "applying")
    recover(batch_seconds=10)
    assert batches.result(result.batch).done == 4
    aside(doors, 4, who)
    second = replay(Selection(everything=True), background=True, **who)
    batches.stop(second.batch.pk, by="bob")
    recover(batch_seconds=10)
    stopped = batches.result(second.batch)
    assert (stopped.left, stopped.state, stopped.intervention.ended_by) == (4, "stopped", "bob")


def test_the_rate_is_kept(doors: Doors, who: dict[str, str]) -> None:
    aside(doors, 6, who)
    began = time.monotonic()
    result = replay(Selection(everything=True), rate=20, **who)
    assert result.done == 6
    assert time.monotonic() - began >= 5 / 20


def test_the_rate_is_kept_in_turns_too(doors: Doors, who: dict[str, str]) -> None:
    aside(doors, 4, who)
    replay(Selection(everything=True), rate=0.5, background=True, **who)
    assert batches.work(seconds=2) == 1
    assert batches.work(seconds=2) == 0


def test_a_wrong_selection_is_refused_before_anything_happens(doors: Doors, who: dict[str, str]) -> None:
    for wrong in (Selection(), Selection(("a",), queue="default"), Selection(everything=True, queue="default")):
        with pytest.raises(OperationError):
            replay(wrong, **who)
    with pytest.raises(OperationError):
        replay("a", rate=0, **who)
    with pytest.raises(OperationError, match="reason"):
        replay("a", actor="ann", reason="")
    assert not Batch.objects.exists()
    with pytest.raises(OperationError, match="no queue"):
        replay(Selection(queue="nowhere"), **who)
    assert Intervention.objects.get().state == "failed"


def test_discard_keeps_a_copy_of_what_was_quarantined(doors: Doors, who: dict[str, str]) -> None:
    (job,) = aside(doors, 1, who)
    open_job = doors.enqueue()
    result = discard([job, open_job], **who)
    assert result.done == 2
    row = QuarantinedJob.objects.get()
    assert (row.state, bool(row.payload)) == ("discarded", True)
    assert doors.totals()["discarded"] == 1
    assert replay(job, **who).gone == 1


def test_requeue_what_failed_and_only_that(doors: Doors, who: dict[str, str]) -> None:
    job = doors.enqueue()
    _, token = doors.start() or ("", "")
    doors.settle(token, "failed")
    doors.redis.zadd(K.of("rq_failed", "default"), {job: 9e9})
    (held,) = aside(doors, 1, who)
    result = requeue([job, held, "nobody"], **who)
    assert (result.done, result.skipped, result.gone) == (1, 1, 1)
    assert result.reasons == {"quarantined: replay it instead": 1}
    assert (doors.start() or ("",))[0] == job


def test_an_emptied_redis_loses_no_quarantined_job(doors: Doors, who: dict[str, str]) -> None:
    jobs = aside(doors, 3, who)
    selection.refresh()
    doors.redis.flushall()
    fresh = Doors(doors.redis)
    result = replay(Selection(everything=True), **who)
    assert result.done == 3
    assert [fresh.field(job, "qo_replay_of") for job in fresh.queued()] == jobs
    assert fresh.field(fresh.queued()[0], "data") == "x"
    assert replay(jobs, **who).skipped == 3


def test_c25_replay_and_quarantine_leave_one_entry_of_an_id(doors: Doors, who: dict[str, str]) -> None:
    job = doors.enqueue(job_id="same")
    doors.redis.rpush(K.of("rq_queue", "default"), "same", "same")
    quarantine("same", **who)
    assert doors.queued() == []
    result = replay("same", **who)
    assert doors.queued() == [result.outcomes[0][2]]
    assert doors.field(job, "qo_replayed_as") == doors.queued()[0]


def test_ids_are_taken_as_they_are(doors: Doors, who: dict[str, str]) -> None:
    names = ["<script>", "a'b\"c", "new\nline", "キュー", "%s", "*"]
    for name in names:
        doors.enqueue(job_id=name)
    other = doors.enqueue()
    assert quarantine(names, **who).done == len(names)
    assert doors.queued() == [other]


@pytest.mark.parametrize("job_id", ["x" * 256, "a\x00b", "\ud800"])
def test_an_id_that_cannot_be_written_down_exactly_is_refused(doors: Doors, who: dict[str, str], job_id: str) -> None:
    with pytest.raises(OperationError, match="exactly"):
        quarantine(["ok", job_id], **who)
