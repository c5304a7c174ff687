"""requeue, discard, quarantine, replay and run-now take ids or filters alike."""

from __future__ import annotations

import io
import json
from argparse import ArgumentParser
from contextlib import redirect_stdout
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueops.management import registry
from queueops.models import Intervention
from queueops.operations.steps import FITS
from tests.scripts.kit import Doors, K

VERBS = ("discard", "quarantine", "replay", "requeue", "run-now")


@pytest.fixture
def doors(redis: Any, db: None) -> Doors:
    return Doors(redis)


def run(*args: str) -> tuple[int, dict[str, Any]]:
    out = io.StringIO()
    status = 0
    with redirect_stdout(out):
        try:
            call_command("queueops", *args, "--json", "--reason", "because")
        except SystemExit as end:
            status = int(end.code or 0)
        except CommandError as error:
            return 2, {"error": str(error)}
    return status, json.loads(out.getvalue())


@pytest.mark.parametrize("name", VERBS)
def test_the_same_options_and_a_help_that_says_what_a_filter_means(name: str) -> None:
    parser = ArgumentParser()
    registry.load()[name].prepare(parser)
    text = " ".join(parser.format_help().split())
    for option in ("--state", "--queue", "--function", "--error", "--text", "--tag", "--older", "--younger", "--all",
                   "--rate", "--background", "--reason", "JOB"):  # fmt: skip
        assert option in text, (name, option)
    assert "each at most once" in text
    assert all(state in text for state in FITS[name.replace("-", "_")])


def test_filters_of_each(doors: Doors) -> None:
    due = [doors.enqueue(mode="schedule", due=f"400000000{n}", mapping={"status": "scheduled"}) for n in range(2)]
    assert run("run-now", "--queue", "default")[1]["done"] == 2
    assert doors.queued() == due
    status, answer = run("run-now", due[0])
    assert (status, answer["reasons"]) == (1, {"on its queue already": 1})
    assert run("quarantine", "--state", "queued", "--function", "APP", "--rate", "1000")[1]["done"] == 2
    assert run("replay", "--state", "quarantined", "--function", "app")[1]["done"] == 2
    assert run("discard", "--state", "queued", "--all")[1]["done"] == 2
    failed = doors.enqueue(mapping={"status": "failed", "qo_tags": "\x1fred\x1f"})
    doors.redis.lrem(K.of("rq_queue", "default"), 0, failed)
    doors.redis.zadd(K.of("rq_failed", "default"), {failed: 4e9})
    assert run("requeue", "--tag", "blue")[1]["total"] == 0
    assert run("requeue", "--tag", "red")[1]["done"] == 1
    assert Intervention.objects.order_by("pk").last().target == "failed jobs with tag 'red'"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "args, said",
    [
        (("requeue",), "give a filter"),
        (("requeue", "job", "--queue", "default"), "not both"),
        (("quarantine", "--queue", "default"), "--state queued|parked"),
        (("requeue", "--all", "--tag", "x"), "--all takes no filter"),
        (("requeue", "--queue", "defualt"), "no queue named 'defualt'"),
        (("run-now", "job", "--cron", "x"), "not both"),
        (("run-now", "--cron", "nightly"), "no cron entry named 'nightly'"),
    ],
)
def test_what_is_refused_says_what_to_do(doors: Doors, args: tuple[str, ...], said: str) -> None:
    status, answer = run(*args)
    assert status and said in answer["error"], answer


def test_an_entry_of_cron_now(doors: Doors) -> None:
    entry = {"func_name": "builtins.print", "name": "nightly", "queue_name": "default", "args": '["é", 1]',
             "kwargs": '{"sep": "-"}', "cron": "0 3 * * *", "job_timeout": 77}  # fmt: skip
    bare = {**entry, "name": "bare", "args": "<not JSON serializable>"}
    doors.redis.zadd(K.static("rq_cron_schedulers"), {"s1": 1, "s2": 2})
    for name in ("s1", "s2"):
        doors.redis.hset(K.of("rq_cron_scheduler", name), "cron_jobs", json.dumps([entry, bare, 7]))
    status, answer = run("run-now", "--cron", "nightly")
    assert (status, doors.queued()) == (0, [answer["job"]])
    assert doors.field(answer["job"], "description") == "builtins.print('é', 1, sep='-')"
    assert doors.field(answer["job"], "timeout") == "77"
    assert doors.totals()["accepted"] == 1
    status, answer = run("run-now", "--cron", "bare")
    assert status and "enqueue it from code" in answer["error"]
    assert Intervention.objects.filter(verb="run_now", state="done").get().after["queue"] == "default"
