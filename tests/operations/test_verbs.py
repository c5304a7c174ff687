"""The commands: one JSON object on stdout; one line and a status on failure; a row for every change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from queueops.diagnosis import wording
from queueops.models import Intervention
from queueops.primitives import Lock
from queueops.rdb.keys import control_id
from tests.scripts.kit import Doors, K, claim

Run = Callable[..., Any]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], doors: Doors) -> Run:
    """Run a verb with ``--json``; the answer, or ``(status, line on stderr)``."""

    def go(*args: str, json_: bool = True) -> Any:
        capsys.readouterr()
        status = 0
        try:
            call_command("queueops", *args, *(["--json"] if json_ else []))
        except SystemExit as end:
            status = int(end.code or 0)
        out, err = capsys.readouterr()
        if not json_:
            return out.strip()
        answer = json.loads(out) if out else err.strip()
        if err.strip() and status:
            assert answer == {"error": err.strip().removeprefix("queueops: ")}
            answer = err.strip()
        return (status, answer) if status else answer

    return go


@pytest.fixture
def disk(doors: Doors) -> None:
    definition = {"kind": "semaphore", "name": "disk", "limit": 1, "per": 0, "strategy": "sliding", "burst": 0}
    doors.redis.hset(K.static("controls"), control_id("semaphore", "disk"), json.dumps(definition))


def test_pause_and_resume(run: Run, doors: Doors) -> None:
    answer = run("pause", "--queue", "default", "--for", "30m", "--reason", "deploy")
    assert (answer["paused"], answer["replaced"]) == ("queue default", False)
    assert answer["until"]
    doors.enqueue()
    assert doors.start() is None
    assert run("resume", "--queue", "default", "--reason", "done")["resumed"] == "queue default"
    assert doors.start()
    assert run("pause", "--all", "--reason", "x")["kind"] == "all"
    assert run("resume", "--all", "--reason", "x")["kind"] == "all"
    assert Intervention.objects.count() == 4
    assert Intervention.objects.order_by("id")[0].reason == "deploy"


def test_resume_all_says_what_stays_paused(run: Run, doors: Doors) -> None:
    run("pause", "--queue", "low", "--reason", "x")
    run("pause", "--all", "--reason", "x")
    assert run("resume", "--all", "--reason", "x")["still_paused"] == ["queue low"]
    text = run("pause", "--queue", "low", "--reason", "x", json_=False)
    assert text == "paused queue low until somebody lifts it"


def test_isolate_limit_and_release(run: Run, doors: Doors, disk: None) -> None:
    doors.enqueue(function="app.f")
    assert run("isolate", "--function", "app.f", "--reason", "x")["isolated"] == "function app.f"
    assert run("unisolate", "--function", "app.f", "--reason", "x")["unisolated"] == "function app.f"
    assert run("isolate", "--key", "disk=eu", "--reason", "x")["isolated"] == "key disk=eu"
    assert run("unisolate", "--key", "disk=eu", "--reason", "x")
    assert run("isolate", "--error", "abcdef12", "--reason", "x")
    answer = run("limit", "disk", "4", "--for", "1h", "--reason", "x")
    assert (answer["control"], answer["limit"], answer["declared"]) == ("semaphore:disk", 4, 1)
    assert run("limit", "semaphore:disk", "declared", "--reason", "x")["limit"] is None
    job = doors.enqueue(claim("semaphore", "disk", "eu"), function="app.g")
    while (found := doors.start()) and found[0] != job:
        pass
    answer = run("release", "disk", "--key", "eu", "--token", doors.token, "--reason", "x")
    assert answer["released"] == [{"token": doors.token[:8], "job": job, "worker": "w1"}]
    assert Intervention.objects.count() == 8
    assert not Intervention.objects.filter(reason="").exists()


def test_locks(run: Run, doors: Doors, disk: None) -> None:
    job = doors.enqueue(claim("semaphore", "disk", "eu"))
    doors.start()
    waiting = doors.enqueue(claim("semaphore", "disk", "eu"))
    doors.start()
    row = run("locks")["locks"][0]
    assert (row["name"], row["key"], row["used"], row["limit"], row["line"]) == ("disk", "eu", 1, 1, [waiting])
    assert row["held_by"][0]["job"] == job
    assert run("locks", "--search", "nothing-like-it")["locks"] == []
    said = run("locks", "--search", "nothing-like-it", json_=False)
    assert said == "no name or key contains 'nothing-like-it'; 1 in use"
    assert "semaphore disk key eu: 1 of 1 held, 1 waiting" in run("locks", json_=False)


def test_quarantine_replay_discard_requeue(run: Run, doors: Doors) -> None:
    jobs = [doors.enqueue(function="app.a") for _ in range(3)]
    answer = run("quarantine", *jobs, "--reason", "bad data")
    assert (answer["total"], answer["done"]) == (3, 3)
    answer = run("replay", "--queue", "default", "--function", "app.a", "--reason-like", "bad", "--reason", "fixed")
    assert (answer["total"], answer["done"], answer["left"]) == (3, 3, 0)
    new = answer["jobs"][0]["detail"]
    assert run("discard", new, "--reason", "x")["done"] == 1
    status, answer = run("requeue", jobs[0], "nobody", "--reason", "x")
    assert (status, answer["skipped"], answer["gone"]) == (1, 1, 1)
    text = run("quarantine", "nobody", "--reason", "x", json_=False)
    assert text.startswith("0 of 1 quarantined, 0 skipped, 1 gone")


def test_replay_at_a_rate_and_in_the_background(run: Run, doors: Doors) -> None:
    run("quarantine", doors.enqueue(), doors.enqueue(), "--reason", "x")
    assert run("replay", "--all", "--rate", "50", "--background", "--reason", "x")["left"] == 2


def test_explain(run: Run, doors: Doors) -> None:
    job = doors.enqueue()
    answer = run("explain", job)
    assert (answer["job_id"], answer["state"], answer["queue"]) == (job, "queued", "default")
    status, said = run("explain", "no\nbody\x1b[31m")
    assert status == 1 and said.startswith("queueops: job no body [31m: No job has this id")


def test_status(run: Run, doors: Doors, disk: None) -> None:
    doors.enqueue()
    run("pause", "--queue", "default", "--reason", "x")
    answer = run("status")
    queue = answer["queues"]["default"]
    assert queue["open"]["queued"] == 1
    assert queue["held"] == {"failed": 0, "quarantined": 0}
    assert queue["paused"]["reason"] == "x"
    assert {"at", "healthy", "queues", "workers"} <= answer.keys()
    assert set(answer["workers"]) == {"busy", "idle", "silent"}
    assert {"oldest_age", "inflow_per_min", "completed_per_min"} <= queue.keys()
    text = run("status", json_=False)
    assert "default (paused)" in text


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("pause", "--queue", "defualt", "--reason", "x"), "Close: 'default'"),
        (("pause", "--queue", "default"), "A reason is required"),
        (("resume", "--queue", "default", "--reason", "x"), "not paused"),
        (("limit", "dsik", "2", "--reason", "x"), "Close: 'disk'"),
        (("release", "disk", "--all", "--reason", "x"), "Nobody holds semaphore:disk"),
        (("replay", "--reason", "x"), "Name the jobs, or give a filter"),
        (("replay", "job", "--queue", "default", "--reason", "x"), "not both"),
        (("unisolate", "--error", "abcdef12", "--reason", "x"), "not isolated"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_a_status(run: Run, disk: None, args: tuple[str, ...], line: str) -> None:
    status, said = run(*args)
    assert status == 1
    assert line in said
    assert "\n" not in said


def test_doctor(run: Run, doors: Doors) -> None:
    answer = run("doctor")
    if isinstance(answer, tuple):
        answer = answer[1]
    found = {check["check"]: check for check in answer["checks"]}
    for name in ("settings", "migrations", "redis", "clock", "eviction", "evicted", "appendonly", "settings mirror"):
        assert found[name]["state"] == "ok", found[name]
    assert found["workers"]["state"] == "warn"
    assert found["monitor"]["state"] == "warn"
    assert "ok" in run("doctor", json_=False)


def test_a_filter_with_a_name_that_does_not_exist_is_refused_with_close_ones(run: Run, doors: Doors) -> None:
    run("quarantine", doors.enqueue(function="app.send_mail"), "--reason", "x")
    status, said = run("replay", "--function", "app.send_mial", "--reason", "x")
    assert status == 1 and "no function named 'app.send_mial'" in said and "'app.send_mail'" in said
    status, said = run("discard", "--queue", "defualt", "--reason", "x")
    assert status == 1 and "'default'" in said
    text = run("replay", "--function", "app.send_mail", "--error", "e", "--reason", "x", json_=False)
    assert text == "nothing replayed: no job matches"


def test_an_unknown_control_says_where_to_look(run: Run, doors: Doors) -> None:
    status, said = run("release", "nothing", "--all", "--reason", "x")
    assert status == 1 and "queueops locks" in said
    doors.enqueue(claim("lock", "import", "cedar"))
    doors.start()  # keyed, and without a published definition
    assert "'import'" in run("release", "imprt", "--all", "--reason", "x")[1]
    assert len(run("release", "import", "--key", "cedar", "--all", "--reason", "x")["released"]) == 1


def test_locks_that_hold_others_up_come_first(run: Run, doors: Doors) -> None:
    for key in ("a", "b", "c"):
        doors.enqueue(claim("lock", "import", key))
        doors.start()
        if key == "a":
            doors.enqueue(claim("lock", "import", key))
            doors.start()
    answer = run("locks", "--most", "1")
    assert ([row["key"] for row in answer["locks"]], answer["left"], answer["more"]) == (["a"], 2, True)
    assert "and 2 more" in run("locks", "--most", "1", json_=False)


def test_a_lock_that_a_job_took_by_hand_names_it(run: Run, doors: Doors) -> None:
    job = doors.enqueue()
    assert Lock("import", key="cedar").acquire(job, ttl=60)
    assert f"taken by job {job} by hand" in run("locks", json_=False)
    waiting = doors.enqueue(claim("lock", "import", "cedar"))
    while doors.start():
        pass
    assert f"held by job {job}, which took it by hand" in run("explain", waiting)["sentence"]


def test_a_pause_is_told_in_words(run: Run, doors: Doors) -> None:
    run("pause", "--queue", "default", "--for", "30m", "--reason", "deploy")
    line = next(line for line in run("status", json_=False).splitlines() if line.startswith("paused:"))
    assert re.fullmatch(r"paused: queue default, by .+ \(deploy\), until 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \w+", line)


def test_words() -> None:
    told = "its process died 2 times (signal 9: killed, perhaps out of memory)"
    assert wording.reason_words("worker died 2 times (signal 9)") == told
    assert wording.reason_words("worker died 1 times (exit status 3)") == "its process died 1 time (exit status 3)"
    assert wording.reason_words("bad data") == "bad data"
    assert wording.written("2026-05-04T13:05:09.123456Z") == "2026-05-04 13:05:09 UTC"
    assert wording.written("some day") == "some day"
    fields = ("all", "q:mail", "f:app.f", "S:disk", "k:S:disk\x1feu", "odd")
    assert [wording.target(field) for field in fields] == [
        "everything", "queue mail", "function app.f", "semaphore disk", "key of semaphore disk, key eu", "odd",
    ]  # fmt: skip


def test_a_hold_outside_of_jobs_names_no_job(run: Run, doors: Doors) -> None:
    assert run("locks", json_=False) == run("locks", "--search", "x", json_=False) == "nothing is held or waited for"
    with Lock("outside").hold(ttl=60) as lease:
        said = run("locks", json_=False)
        assert f"{lease.token[:8]} taken outside of a job, or by one that is gone, ends in" in said
        assert "by hand" not in said and "owner gone" not in said


def test_a_token_that_is_too_short_says_how_long_it_must_be(run: Run, doors: Doors) -> None:
    with Lock("outside").hold(ttl=60) as lease:
        short, whole = lease.token[:3], lease.token
        status, said = run("release", "outside", "--token", short, "--reason", "x")
        assert status == 1 and "at least its first 8 characters" in said and whole[:8] in said
        other = chr(ord("a") + (whole[0] == "a")) * 8
        assert "No holder has the token" in run("release", "outside", "--token", other, "--reason", "x")[1]
        assert len(run("release", "outside", "--token", whole[:8], "--reason", "x")["released"]) == 1


def test_a_change_that_did_nothing_says_so_in_its_row(run: Run, doors: Doors) -> None:
    run("requeue", "nope", "--reason", "x")
    assert Intervention.objects.latest("pk").after["result"] == "nothing was done: of 1, 1 not found"
    run("requeue", doors.enqueue(), "nope", "--reason", "x")
    assert Intervention.objects.latest("pk").after["result"] == "nothing was done: of 2, 1 not found, 1 skipped"
    run("requeue", "--all", "--reason", "x")
    assert Intervention.objects.latest("pk").after["result"] == "nothing was done: no job matched"
