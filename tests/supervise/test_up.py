"""`manage.py queueops up`, as a developer runs it: real processes on a state directory of its own."""

from __future__ import annotations

import http.cookiejar
import re
import signal
import socket
import sqlite3
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import psutil
import pytest
import redis
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from queueops.supervise import embedded
from tests.supervise.conftest import Launch, Shared
from tests.supervise.family import Running, gone
from tests.support import eventually, free_port

FIRST_URL = r"(\w+://\S+)"


def named(running: Running, words: str) -> psutil.Process:
    """The child whose command line has these words."""
    found = [p for p in running.family() if words in " ".join(p.cmdline())]
    assert found, f"no {words!r} among {[p.cmdline() for p in running.family()]}"
    return found[0]


def sign_in(address: str, password: str) -> str:
    """The address where one arrives after having logged in."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    page = browser.open(address, timeout=90).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token, page
    form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token[1], "next": "/"}
    login = urllib.parse.urljoin(address, "/login/")
    request = urllib.request.Request(login, urllib.parse.urlencode(form).encode(), {"Referer": login})
    return str(browser.open(request, timeout=90).geturl())


def test_one_command_then_stop_then_resume(launch: Launch, state: Path) -> None:
    port = free_port()
    first = launch(port=port)
    address = first.expect(FIRST_URL)[1]
    assert address == f"http://127.0.0.1:{port}/"
    password = first.expect(r"log in as admin with the password (\S+)")[1]
    first.expect(r"manage\.py changepassword admin")
    first.expect(r"started redis, web, monitor, worker-1")
    assert sign_in(address, password) == address
    with redis.Redis.from_url(embedded.url(state / "redis")) as connection:
        connection.set("kept", "yes")
    family = first.family()
    assert len(family) >= 4
    assert first.end(signal.SIGTERM) == 0
    gone(family)

    second = launch(port=port)
    second.expect("started redis")
    assert "with the password" not in second.text
    assert sign_in(address, password) == address
    with redis.Redis.from_url(embedded.url(state / "redis")) as connection:
        assert connection.get("kept") == b"yes"
    family = second.family()
    assert second.end(signal.SIGINT) == 0
    gone(family)


def test_a_child_that_dies_is_restarted(running: Running, state: Path) -> None:
    old = named(running, "queueops worker").pid
    psutil.Process(old).kill()
    running.expect(r"worker-1 was ended by signal SIGKILL; it is started again in 0\.5 s")
    eventually(lambda: [p for p in running.family() if "queueops worker" in " ".join(p.cmdline()) and p.pid != old])

    named(running, "valkey-server").kill()
    running.expect("redis was ended by signal SIGKILL")
    with redis.Redis.from_url(embedded.url(state / "redis")) as connection:
        eventually(lambda: answers(connection), what="Redis answers again")

    address = running.expect(FIRST_URL)[1]
    named(running, "supervise.web").kill()
    running.expect("web was ended by signal SIGKILL")
    # the socket is the parent's: this waits in its backlog instead of being refused
    assert urllib.request.urlopen(f"{address}healthz", timeout=60).status == 200
    family = running.family()
    assert running.end() == 0
    gone(family)


def answers(connection: redis.Redis) -> bool:
    try:
        return bool(connection.ping())
    except redis.RedisError:
        return False


def test_a_killed_up_leaves_no_orphan_and_the_next_one_starts(running: Running, launch: Launch) -> None:
    family = running.family()
    assert len(family) >= 4
    running.end(signal.SIGKILL)
    gone(family)
    again = launch()
    again.expect("started redis")
    assert again.end() == 0


def fails(running: Running, pattern: str, state: Path) -> None:
    """It ends by itself, with one line that matches, and leaves nothing."""
    status = running.end(signal.SIGCONT)
    assert status not in (0, -signal.SIGTERM)
    assert re.fullmatch(pattern, running.text), running.text
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if str(state) in " ".join(p.info["cmdline"] or [])]
    assert not left


def test_a_port_that_is_taken(launch: Launch, state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fails(launch(port=port), rf"queueops: port {port} on 127\.0\.0\.1 cannot be used: .*--port.*", state)


def test_a_second_up_on_the_same_data(shared: Shared) -> None:
    second = shared.launch()
    assert second.end(signal.SIGCONT) == 1
    pattern = rf"queueops: queueops is already up on \S+ \(process {shared.running.process.pid}\): stop it, or .*"
    assert re.fullmatch(pattern, second.text), second.text


@pytest.mark.parametrize(
    ("variables", "pattern"),
    [
        ({"REDIS_URL": "localhost"}, r"queueops: REDIS_URL must start with redis://.*"),
        ({"REDIS_URL": "redis://me:secret@127.0.0.1:1/0"}, r"queueops: the server at 127.0.0.1:1 does not answer:.*"),
        ({"DATABASE_URL": "nonsense"}, r"queueops: DATABASE_URL cannot be read: use sqlite:///PATH.*"),
        ({"DATABASE_URL": "oracle://h/n"}, r"queueops: DATABASE_URL is for 'oracle': use sqlite:///PATH.*"),
        ({"DATABASE_URL": "sqlite:////no/such/place/db"}, r"queueops: DATABASE_URL: the directory of .* make it first"),
        (
            {"DATABASE_URL": "postgres://me:secret@127.0.0.1:1/n"},
            r"queueops: the database \(postgresql, .*DATABASE_URL.*",
        ),
        ({"DATABASE_URL": "mysql://me:secret@127.0.0.1:1/n"}, r"queueops: the database \(mysql, .*DATABASE_URL.*"),
        ({"DEBUG": "perhaps"}, r"queueops: DEBUG is 'perhaps': use 1 or 0"),
    ],
)
def test_a_wrong_environment(launch: Launch, state: Path, variables: dict[str, str], pattern: str) -> None:
    running = launch(**variables)
    fails(running, pattern, state)
    assert "secret" not in running.text


def test_a_database_that_is_none(launch: Launch, state: Path) -> None:
    state.mkdir()
    (state / "db.sqlite3").write_text("this is no database" * 100)
    fails(launch(), r"queueops: the database \(sqlite, .*DATABASE_URL.*", state)


def test_the_database_is_for_several_writers(shared: Shared) -> None:
    with sqlite3.connect(shared.state / "db.sqlite3") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert (shared.state / "secret_key").stat().st_mode & 0o777 == 0o600


def test_pages_are_sent_with_a_strict_policy(shared: Shared) -> None:
    answer = urllib.request.urlopen(f"{shared.address}login/", timeout=90)
    policy = answer.headers["Content-Security-Policy"]
    for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert rule in policy
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_foreign_host_is_refused(shared: Shared) -> None:
    request = urllib.request.Request(f"{shared.address}login/", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=90)
    assert caught.value.code == 400


@pytest.mark.parametrize("path", ["no/such/socket", "ws/live/"])
def test_a_web_socket_of_nobody_is_refused(shared: Shared, path: str) -> None:
    address = f"{shared.address.replace('http', 'ws')}{path}"
    with (
        pytest.raises((InvalidStatus, ConnectionClosed)),
        connect(address, origin=Origin(shared.address.rstrip("/"))) as peer,
    ):
        peer.recv(timeout=90)
