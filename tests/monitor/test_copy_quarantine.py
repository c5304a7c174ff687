"""The SQL copy of quarantined jobs is made once per change, whatever dies in between."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import rq
from django.db import DatabaseError

from queueops.models import QuarantinedJob
from queueops.monitor.duties import copy_quarantine
from queueops.monitor.duty import Context
from queueops.rdb.keys import Keys

AT = 1_700_000_000_000_000


def quarantine(context: Context, keys: Keys, job: str, queue: str = "q", **info: Any) -> None:
    redis = context.connection
    redis.zadd(keys.of("quarantined", queue), {job: AT})
    record = {"queue": queue, "function": "app.f", "reason": "r", "error": "e", "attempts": 3, "crashes": 1, "at": AT}
    redis.hset(keys.static("quarantine_info"), job, json.dumps({**record, **info}))
    redis.sadd(keys.static("quarantine_todo"), job)


def todo(context: Context, keys: Keys) -> int:
    return int(context.connection.scard(keys.static("quarantine_todo")))


def test_a_copy_with_its_payload(context: Context, keys: Keys) -> None:
    job = rq.Queue("q", connection=context.connection).enqueue("os.getcwd", description="what")
    quarantine(context, keys, job.id)
    assert copy_quarantine.act(context) == {"copied": 1}
    row = QuarantinedJob.objects.get()
    assert (row.server, row.job_id, row.queue, row.function) == ("test", job.id, "q", "app.f")
    assert (row.reason, row.attempts, row.crashes, row.description) == ("r", 3, 1, "what")
    assert row.quarantined_at.timestamp() == AT / 1_000_000
    payload = {k: base64.b64decode(v) for k, v in json.loads(row.payload).items()}
    assert payload["data"] == context.connection.hget(keys.of("rq_job", job.id), "data")
    assert todo(context, keys) == 0


def test_more_than_a_page(context: Context, keys: Keys) -> None:
    for i in range(120):
        quarantine(context, keys, f"j{i}")
    assert copy_quarantine.act(context) == {"copied": 120}
    assert QuarantinedJob.objects.count() == 120


def test_a_failed_commit_leaves_it_on_the_list(context: Context, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    quarantine(context, keys, "a")

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise DatabaseError("disk full")

    with monkeypatch.context() as patch, pytest.raises(DatabaseError):
        patch.setattr(QuarantinedJob, "save", refuse)
        copy_quarantine.act(context)
    assert todo(context, keys) == 1
    copy_quarantine.act(context)
    assert (QuarantinedJob.objects.count(), todo(context, keys)) == (1, 0)


def test_killed_between_commit_and_striking_off_it_is_the_same_copy(context: Context, keys: Keys) -> None:
    quarantine(context, keys, "a")
    copy_quarantine.act(context)
    context.connection.sadd(keys.static("quarantine_todo"), "a")
    copy_quarantine.act(context)
    assert QuarantinedJob.objects.count() == 1


def test_a_change_after_the_read_stays_on_the_list(
    context: Context, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    quarantine(context, keys, "a")
    true_save = QuarantinedJob.save

    def save(self: Any, *args: Any, **kwargs: Any) -> None:
        # the job is quarantined anew while its row is being written
        quarantine(context, keys, "a", reason="again", at=AT + 5)
        true_save(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(QuarantinedJob, "save", save)
        patch.setattr(copy_quarantine, "PAGES", 1)
        assert copy_quarantine.act(context) == {"copied": 0}
    assert todo(context, keys) == 1
    copy_quarantine.act(context)
    assert QuarantinedJob.objects.get().reason == "again"


def test_a_job_that_is_gone_keeps_what_is_known(context: Context, keys: Keys) -> None:
    quarantine(context, keys, "gone")
    copy_quarantine.act(context)
    row = QuarantinedJob.objects.get()
    assert (row.reason, row.payload, row.payload_bytes) == ("r", "", 0)


def test_a_large_job_is_copied_without_its_payload(context: Context, keys: Keys) -> None:
    context.connection.hset(keys.of("rq_job", "big"), "data", b"x" * 5_000_000)
    quarantine(context, keys, "big")
    copy_quarantine.act(context)
    row = QuarantinedJob.objects.get()
    assert (row.payload, row.payload_bytes) == ("", 5_000_000)


def test_text_that_a_database_refuses_is_made_visible(context: Context, keys: Keys) -> None:
    context.connection.hset(keys.of("rq_job", "odd"), mapping={"description": b"\x00\xff<b>", "data": b"\x80"})
    quarantine(context, keys, "odd", error="nul \x00 and \ud800", reason="x" * 100_000)
    copy_quarantine.act(context)
    row = QuarantinedJob.objects.get()
    assert "\x00" not in row.description + row.error


def test_broken_info_is_copied_as_far_as_it_goes(context: Context, keys: Keys) -> None:
    context.connection.hset(keys.of("rq_job", "j"), mapping={"origin": "q", "data": b"d"})
    context.connection.zadd(keys.of("quarantined", "q"), {"j": AT})
    context.connection.hset(keys.static("quarantine_info"), "j", "{")
    context.connection.sadd(keys.static("quarantine_todo"), "j", b"\xff")
    copy_quarantine.act(context)
    assert QuarantinedJob.objects.get().queue == "q"


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"qo_replayed_as": "new", "origin": "q"}, "replayed"),
        ({}, "discarded"),
        ({"origin": "q"}, "left"),
    ],
)
def test_a_job_that_left_is_marked_by_how(fields: dict[str, str], state: str, context: Context, keys: Keys) -> None:
    quarantine(context, keys, "a")
    copy_quarantine.act(context)
    redis = context.connection
    redis.zrem(keys.of("quarantined", "q"), "a")
    redis.hdel(keys.static("quarantine_info"), "a")
    redis.sadd(keys.static("quarantine_todo"), "a")
    if fields:
        redis.hset(keys.of("rq_job", "a"), mapping=fields)
    copy_quarantine.act(context)
    assert QuarantinedJob.objects.get().state == state
    assert todo(context, keys) == 0
