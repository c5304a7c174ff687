"""The verbs beside a server that does not answer: it is named, and nothing of it is made up."""

from __future__ import annotations

import html
import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from queueops import mirror
from queueops.conf import conf
from queueops.models import Intervention, Isolation, Pause
from queueops.operations import pauses
from queueops.operations.recover import GRACE, recover
from queueops.rdb import client
from queueops.supervise.embedded import find_binary
from tests.support import eventually, free_port

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dead(redis: Any, db: None, settings: Any) -> Iterator[str]:
    """The queue ``mail`` is on a server that does not answer; the address of that."""
    url = f"redis://127.0.0.1:{free_port()}/0"
    working = settings.RQ_QUEUES["default"]
    settings.RQ_QUEUES = {"mail": {"URL": url}, "default": working, "post": {"URL": url}}
    yield url
    client.forget()


@pytest.fixture
def revive(dead: str, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Starts a server at the address that did not answer; gives a connection."""
    servers = []

    def go() -> Any:
        binary = find_binary()
        port = dead.rpartition(":")[2].partition("/")[0]
        process = subprocess.Popen(
            [binary, "--port", port, "--save", "", "--dir", str(tmp_path)], stdout=subprocess.DEVNULL
        )
        connection = Redis.from_url(dead)
        servers.append((process, connection))
        eventually(lambda: _alive(connection))
        return connection

    yield go
    for process, connection in servers:
        connection.close()
        process.terminate()
        process.wait()


def _alive(connection: Redis) -> bool:
    try:
        return bool(connection.ping())
    except RedisConnectionError:
        return False


def long_ago() -> None:
    """As if all changes had been made long enough ago for their process to be gone."""
    early = timezone.now() - GRACE - timedelta(seconds=1)
    for model in (Pause, Isolation):
        model.objects.update(created=early)
        model.objects.filter(lifted_at__isnull=False).update(lifted_at=early)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Status, stdout, stderr."""

    def go(*args: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            call_command("queueops", *args)
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        return (status, *capsys.readouterr())

    return go


def test_status_says_unknown(run: Run, dead: str) -> None:
    mirror.rebuild(client.server_of("default"))
    status, out, _ = run("status")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("Unknown: the server of mail does not answer: ")
    assert ".." not in lines[0] and lines[0].endswith(". What the other servers hold is on time.")
    assert sorted(line.split()[:3] for line in lines if "unknown" in line.split()) == [
        ["mail", "unknown", "?"],
        ["post", "unknown", "?"],
    ]
    answer = json.loads(run("status", "--json")[1])
    assert (answer["healthy"], answer["level"], list(answer["errors"])) == (False, "unknown", ["mail"])
    assert answer["queues"]["mail"] is answer["queues"]["post"] is None and answer["queues"]["default"]


WHY = ("--reason", "x")


def test_what_concerns_all_servers_is_done_where_it_can_be_and_finished_later(
    run: Run, dead: str, revive: Callable[[], Any]
) -> None:
    here = client.server_of("default").connection
    status, out, _ = run("pause", "--all", "--for", "1h", *WHY, "--json")
    assert (status, json.loads(out)["behind"]) == (1, ["RQ_QUEUES['mail']"])
    assert here.hexists(conf.keys.static("paused"), "all")
    assert (Pause.objects.get().state, Intervention.objects.get().state) == ("applying", "applying")
    status, out, _ = run("isolate", "--error", "abcdef12", *WHY)
    assert status == 1 and "not yet on the server of RQ_QUEUES['mail']" in out
    assert run("unisolate", "--error", "abcdef12", *WHY)[0] == 1
    assert not here.hexists(conf.keys.static("isolated"), "e:abcdef12")
    long_ago()
    assert any("RQ_QUEUES['mail']" in error for error in recover().errors)
    assert Pause.objects.get().state == "applying"
    there = revive()
    assert not recover().errors
    assert there.hexists(conf.keys.static("paused"), "all")
    assert Pause.objects.get().state == Intervention.objects.get(verb="pause").state == "in_force"
    assert Isolation.objects.get().state == "lifted"
    assert run("resume", "--all", *WHY)[0] == 0
    assert not there.exists(conf.keys.static("paused"))


def test_a_silent_server_keeps_no_other_from_being_recovered(run: Run, dead: str) -> None:
    here = client.server_of("default").connection
    mirror.rebuild(client.server_of("default"))
    assert run("pause", "--all", *WHY)[0] == 1
    assert run("pause", "--queue", "default", *WHY)[0] == 0
    long_ago()
    here.delete(conf.keys.static("paused"))
    recover()
    assert here.hkeys(conf.keys.static("paused")) == [b"all", b"q:default"]


@pytest.mark.parametrize(
    "args",
    [
        ("pause", "--queue", "mail", *WHY),
        ("resume", "--queue", "mail", *WHY),
        ("pause", "--function", "app.nobody", *WHY),
        ("limit", "nothing", "2", *WHY),
        ("release", "nothing", "--all", *WHY),
        ("quiet", "nobody", *WHY),
        ("stop", "nothing", *WHY),
        ("requeue", "nothing", *WHY),
        ("requeue", "--queue", "mail", *WHY),
        ("run-now", "--cron", "nothing", *WHY),
        ("explain", "nothing"),
        ("locks",),
    ],
)
def test_every_verb_names_the_entry_of_a_silent_server(run: Run, dead: str, args: tuple[str, ...]) -> None:
    if args[0] == "resume":
        row = Pause(kind="queue", name="mail", actor="ann", reason="x", state="in_force", created=timezone.now())
        row.slot = pauses.MIRROR.slot(row)
        row.save()
    status, out, err = run(*args, "--json")
    assert status and "RQ_QUEUES['mail']" in json.loads(out)["error"]
    assert "REDIS_URL" not in err and len(err.splitlines()) == 1


def test_a_page_says_where_a_change_is_not_yet(dead: str, admin_client: Any) -> None:
    answer = admin_client.post("/do/pause/", {"kind": "all", "reason": "x", "next": "/jobs/"}, follow=True)
    text = html.unescape(answer.content.decode())
    assert "Not yet on the server of RQ_QUEUES['mail'], which does not answer" in text
