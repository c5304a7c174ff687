"""Bulk work on all jobs of a state that a filter matches: collected in the background, each once, adding up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from queueops.models import Batch, BatchItem, Intervention
from queueops.operations import OperationError, Selection, batches, collecting, discard, quarantine, requeue, run_now
from queueops.operations.recover import recover
from queueops.telemetry.job_pages import JobFilter
from tests.scripts.kit import Doors, K
from tests.support import ROOT, eventually


def failed(doors: Doors, count: int, **more: Any) -> list[str]:
    jobs = []
    for n in range(count):
        job = doors.enqueue(mapping={"status": "failed", "description": f"app.f({n})"}, **more)
        doors.redis.lrem(K.of("rq_queue", "default"), 0, job)
        doors.redis.zadd(K.of("rq_failed", "default"), {job: 1_700_000_000 + n})
        jobs.append(job)
    return jobs


def scheduled(doors: Doors, count: int, **more: Any) -> list[str]:
    return [
        doors.enqueue(mode="schedule", due=str(4_000_000_000 + n), mapping={"status": "scheduled"}, **more)
        for n in range(count)
    ]


def where(state: str, **more: Any) -> Selection:
    return Selection(where=JobFilter(state, **more))


def test_all_failed_jobs_oldest_first_and_only_those_that_match(doors: Doors, who: dict[str, str]) -> None:
    jobs = failed(doors, 3, function="app.a")
    others = failed(doors, 2, function="app.b")
    result = requeue(where("failed", function="app.a", queue="default"), **who)
    assert (result.total, result.done, result.state) == (3, 3, "done")
    assert doors.queued() == jobs
    assert doors.redis.zcard(K.of("rq_failed", "default")) == len(others)
    row = Intervention.objects.get()
    assert row.target == "failed jobs with queue 'default', function 'app.a'"
    assert row.after["done"] == 3


def test_run_now_of_scheduled_jobs_and_why_not(doors: Doors, who: dict[str, str]) -> None:
    jobs = scheduled(doors, 3)
    assert run_now(where("scheduled"), **who).done == 3
    assert doors.queued() == jobs
    result = run_now([*jobs, "nobody"], **who)
    assert (result.done, result.skipped, result.gone) == (0, 3, 1)
    assert result.reasons == {"on its queue already": 3}


def test_queued_jobs_go_to_quarantine_by_filter(doors: Doors, who: dict[str, str]) -> None:
    jobs = [doors.enqueue(mapping={"description": f"app.f({n})"}) for n in range(6)]
    assert quarantine(where("queued", text="app.f(3)"), **who).done == 1
    assert doors.queued() == jobs[:3] + jobs[4:]
    assert discard(where("queued"), **who).done == 5


def test_collecting_is_bounded_resumed_and_comes_before_the_first_change(
    doors: Doors, who: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,200 jobs are three pages: the process stops after the first; another one goes on from there."""
    jobs = failed(doors, 1200)
    batch = batches.start("requeue", where("failed"), rate=None, **who)
    assert (batch.total, BatchItem.objects.count()) == (0, 0)
    real, calls = collecting.page, []

    def dies(*args: Any) -> bool:
        calls.append(args)
        if len(calls) == 2:
            raise SystemExit
        return real(*args)

    monkeypatch.setattr(collecting, "page", dies)
    with pytest.raises(SystemExit):
        batches.run(batch)
    assert BatchItem.objects.count() == 500
    assert doors.queued() == []
    monkeypatch.setattr(collecting, "page", real)
    recover(batch_seconds=30)
    result = batches.result(batch)
    assert (result.total, result.done, result.state) == (1200, 1200, "done")
    assert doors.queued() == jobs


def test_what_comes_in_while_it_collects_is_left_and_nothing_is_met_twice(
    doors: Doors, who: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = failed(doors, 600)
    real = collecting.read

    def and_then(*args: Any, **more: Any) -> Any:
        found = real(*args, **more)
        # one fails again behind the place of reading, others come in
        doors.redis.zadd(K.of("rq_failed", "default"), {jobs[0]: 1_800_000_000, "late": 1_800_000_001})
        return found

    monkeypatch.setattr(collecting, "read", and_then)
    result = requeue(where("failed"), **who)
    ids = list(BatchItem.objects.values_list("job_id", flat=True))
    assert len(ids) == len(set(ids)) == result.total
    assert result.done + result.gone == result.total
    assert set(jobs) <= {*ids, "late"}


def test_a_stop_while_it_collects_or_works_leaves_the_rest(doors: Doors, who: dict[str, str]) -> None:
    failed(doors, 5)
    result = requeue(where("failed"), background=True, **who)
    batches.stop(result.batch.pk, by="bob", reason="wrong ones")
    recover(batch_seconds=5)
    assert doors.queued() == []
    row = Intervention.objects.get()
    assert (row.ended_by, row.after["stopped_because"], row.after["state"]) == ("bob", "wrong ones", "stopped")


def test_verbs_fit_their_states(doors: Doors, who: dict[str, str]) -> None:
    for verb, state in ((requeue, "queued"), (run_now, "parked"), (quarantine, "failed"), (discard, "running")):
        with pytest.raises(OperationError):
            verb(where(state), **who)
    with pytest.raises(OperationError, match="no queue"):
        requeue(where("failed", queue="nowhere"), **who)
    with pytest.raises(OperationError, match="not both"):
        requeue(Selection(("a",), where=JobFilter("failed")), **who)
    assert not Batch.objects.exists()


@pytest.mark.parametrize("verb, state", [("requeue", "failed"), ("run_now", "scheduled"), ("discard", "failed")])
@pytest.mark.django_db(transaction=True)
def test_c26_killed_in_the_middle_another_process_finishes_it(
    redis: Any, child_env: dict[str, str], verb: str, state: str
) -> None:
    """SIGKILL while it works, three times; then the monitor's turn: each job once, and the totals add up."""
    doors = Doors(redis)
    count = 3000
    jobs = failed(doors, count) if state == "failed" else scheduled(doors, count)
    code = (
        "import django; django.setup()\n"
        "from queueops.operations import Selection, batches\n"
        "from queueops.telemetry.job_pages import JobFilter\n"
        "from queueops.models import Batch\n"
        f"known = Batch.objects.first() or batches.start({verb!r}, Selection(where=JobFilter({state!r})), "
        "rate=None, actor='ann', reason='because')\n"
        "Batch.objects.update(owned_until=None)\n"
        "batches.run(known)\n"
    )
    registry = K.of("rq_failed" if state == "failed" else "rq_scheduled", "default")
    for part in (1, 2, 3):
        child = subprocess.Popen([sys.executable, "-c", code], env=child_env, cwd=ROOT)
        goal = count - part * count // 5
        eventually(lambda c=child, goal=goal: redis.zcard(registry) < goal or c.poll() is not None)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    Batch.objects.update(owned_until=None)
    recover(batch_seconds=60)
    batch = Batch.objects.get()
    assert (batch.state, batch.total) == ("done", count)
    assert batch.done + batch.skipped + batch.gone == count
    if verb == "discard":
        # one that was deleted and not yet written down is gone when asked again
        assert batch.skipped == 0 and batch.gone <= 300
        assert redis.zcard(registry) == 0 and doors.totals()["discarded_held"] == count
    else:
        assert batch.done == count
        assert sorted(doors.queued()) == sorted(jobs)
        event = b"job.requeued" if verb == "requeue" else b"job.run_now"
        told = [fields[b"job"] for _, fields in redis.xrange(K.static("log")) if fields[b"e"] == event]
        assert len(told) == len(set(told)) == count
    assert Intervention.objects.get().state == "done"
