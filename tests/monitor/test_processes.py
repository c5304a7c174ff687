"""Real monitor processes: leadership under SIGKILL and SIGSTOP, a clean end, a Redis that comes and goes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis as redis_py

from queueops.monitor.leader import LENGTH
from queueops.rdb.keys import Keys
from tests.support import ROOT, eventually

COMMAND = [sys.executable, "manage.py", "queueops", "monitor"]


class Monitors:
    """Monitor processes on one server; the leader's token carries its process id."""

    def __init__(self, address: str, env: dict[str, str], keys: Keys) -> None:
        self.connection = redis_py.Redis.from_url(address)
        self.env = {**env, "REDIS_URL": address}
        self.keys = keys
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, n: int = 1) -> list[subprocess.Popen[bytes]]:
        new = [subprocess.Popen(COMMAND, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL) for _ in range(n)]
        self.processes += new
        return new

    def leader(self) -> int | None:
        try:
            raw = self.connection.get(self.keys.static("monitor_leader"))
        except redis_py.exceptions.ConnectionError:
            return None
        return int(raw.split(b":")[-2]) if raw else None

    def led_by(self, *pids: int) -> subprocess.Popen[bytes]:
        """Wait until one of ``pids`` (any when empty) leads."""
        eventually(lambda: self.leader() in pids if pids else self.leader(), 30, "a leader")
        leader = self.leader()
        return next(process for process in self.processes if process.pid == leader)

    def snapshot(self) -> dict[str, Any] | None:
        try:
            raw = self.connection.get(self.keys.static("snapshot"))
        except redis_py.exceptions.ConnectionError:
            return None
        return json.loads(raw) if raw else None

    def fresh(self) -> dict[str, Any]:
        """Wait for a snapshot newer than the present one."""
        before = (self.snapshot() or {}).get("seq", -1)
        eventually(lambda: (self.snapshot() or {}).get("seq", -1) != before, 30, "a new snapshot")
        return self.snapshot() or {}

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)
        self.connection.close()


@pytest.fixture
def monitors(own_server: Any, child_env: dict[str, str], keys: Keys, transactional_db: None) -> Iterator[Monitors]:
    made = Monitors(own_server.url, child_env, keys)
    yield made
    made.end()


def test_c07_a_killed_leader_is_replaced_within_a_lease(monitors: Monitors) -> None:
    processes = monitors.start(2)
    first = monitors.led_by()
    other = next(process for process in processes if process is not first)
    before = monitors.fresh()
    first.send_signal(signal.SIGKILL)
    first.wait(5)
    left = monitors.connection.pttl(monitors.keys.static("monitor_leader"))
    assert left <= LENGTH * 1000
    monitors.led_by(other.pid)
    assert monitors.fresh()["seq"] > before["seq"]
    assert other.poll() is None


def test_a_stopped_and_woken_leader_says_nothing(monitors: Monitors) -> None:
    processes = monitors.start(2)
    first = monitors.led_by()
    other = next(process for process in processes if process is not first)
    first.send_signal(signal.SIGSTOP)
    monitors.led_by(other.pid)
    listener = monitors.connection.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(monitors.keys.static("snapshot_channel"))
    first.send_signal(signal.SIGCONT)
    numbers: list[int] = []
    while len(numbers) < 4:
        message = listener.get_message(timeout=10)
        if message:
            numbers.append(json.loads(message["data"])["seq"])
    listener.close()
    assert numbers == sorted(set(numbers))
    assert monitors.leader() == other.pid


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_frees_the_lease(how: signal.Signals, monitors: Monitors) -> None:
    monitors.start()
    process = monitors.led_by()
    monitors.fresh()
    process.send_signal(how)
    assert process.wait(15) == 0
    assert monitors.leader() is None


def test_a_redis_that_was_killed_is_taken_up_again(monitors: Monitors, own_server: Any) -> None:
    monitors.start()
    process = monitors.led_by()
    monitors.fresh()
    own_server.kill()
    own_server.start()
    monitors.fresh()
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0


def test_it_ends_while_redis_is_away(monitors: Monitors, own_server: Any) -> None:
    monitors.start()
    process = monitors.led_by()
    own_server.kill()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_every_duty_reports_and_an_emptied_redis_gets_its_mirror_back(monitors: Monitors) -> None:
    monitors.start()
    monitors.led_by()
    names = {"snapshot", "sample", "time", "rq_rate_limits", "tidy_waiting", "trim", "redis_config", "mirror",
             "copy_quarantine", "recover"}  # fmt: skip
    state = monitors.keys.static("monitor_state")
    eventually(lambda: {k.decode() for k in monitors.connection.hkeys(state)} >= names, 30, "all duties")
    errors = {k: json.loads(v) for k, v in monitors.connection.hgetall(state).items() if b'"error": ""' not in v}
    errors.pop(b"seq", None)
    assert errors == {}
    monitors.connection.flushall()
    eventually(lambda: monitors.connection.exists(monitors.keys.static("epoch")), 30, "the mirror")


def test_another_server_is_served_while_one_is_down(
    own_server: Any, redis: Any, transactional_db: None, keys: Keys
) -> None:
    from queueops.monitor.schedule import lanes
    from queueops.monitor.station import Station
    from queueops.rdb.client import Server

    stop = threading.Event()
    dead = redis_py.Redis.from_url(own_server.url, socket_timeout=2)
    own_server.kill()
    stations = [Station(Server(name, c, ()), lanes(), stop) for name, c in (("dead", dead), ("alive", redis))]
    for station in stations:
        station.start()
    eventually(lambda: redis.get(keys.static("snapshot")), 20, "a snapshot of the one that is up")
    own_server.start()
    eventually(lambda: dead.get(keys.static("snapshot")), 30, "a snapshot of the other")
    stop.set()
    assert all(station.join(20) for station in stations)


def test_run_in_a_thread_ends_by_its_event(redis: Any, transactional_db: None, keys: Keys) -> None:
    from queueops.monitor import loop

    stop, codes = threading.Event(), []
    thread = threading.Thread(target=lambda: codes.append(loop.run(stop)))
    thread.start()
    eventually(lambda: redis.get(keys.static("snapshot")), 20, "a snapshot")
    stop.set()
    thread.join(20)
    assert codes == [0]
