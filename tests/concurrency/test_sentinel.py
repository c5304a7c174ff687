"""Behind Sentinel: an idle worker wakes at once, goes on after a failover, and stops when told to."""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError
from redis.sentinel import Sentinel
from rq.job import JobStatus

from queueops.rq import Queue
from queueops.supervise.embedded import find_binary
from tests.scripts.kit import K
from tests.support import ROOT, eventually, free_port

SETTINGS = """
from queueops.project.settings import *
_PLACE = {{"SENTINELS": [("127.0.0.1", {sentinel})], "MASTER_NAME": "shop", "DB": 0, "SOCKET_TIMEOUT": 5}}
RQ_QUEUES = {{"default": _PLACE}}
"""
CONF = """
port {sentinel}
dir {home}
sentinel monitor shop 127.0.0.1 {primary} 1
sentinel down-after-milliseconds shop 1000
sentinel failover-timeout shop 3000
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A primary, a replica and one sentinel; their processes by name."""
    ports = {name: free_port() for name in ("primary", "replica", "sentinel")}
    conf = tmp_path / "sentinel.conf"
    conf.write_text(CONF.format(home=tmp_path, **ports))
    (tmp_path / "behind_sentinel.py").write_text(SETTINGS.format(**ports))
    binary, common = str(find_binary()), ["--save", "", "--dir", str(tmp_path)]
    follow = ["--replicaof", "127.0.0.1", str(ports["primary"])]
    commands = {
        "primary": [binary, "--port", str(ports["primary"]), *common],
        "replica": [binary, "--port", str(ports["replica"]), *follow, *common],
        "sentinel": [binary, str(conf), "--sentinel"],
    }  # fmt: skip
    out = subprocess.DEVNULL
    started = {name: subprocess.Popen(command, stdout=out, stderr=out) for name, command in commands.items()}
    yield {**started, "ports": ports, "home": tmp_path}
    for process in started.values():
        process.kill()
        process.wait(10)


def test_wakes_fails_over_and_stops(place: dict[str, Any], child_env: dict[str, str]) -> None:
    sentinel = Sentinel([("127.0.0.1", place["ports"]["sentinel"])], socket_timeout=2)
    with Redis(port=place["ports"]["sentinel"]) as watch:
        eventually(_unless_cut(lambda: watch.sentinel_slaves("shop")), what="the sentinel knows the replica")
    connection = sentinel.master_for("shop")
    env = {**child_env, "DJANGO_SETTINGS_MODULE": "behind_sentinel", "PYTHONPATH": f"{place['home']}:{ROOT}"}
    command = [sys.executable, "manage.py", "queueops", "worker", "default", "--name", "one"]
    worker = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        queue = Queue("default", connection=connection)
        eventually(lambda: connection.zscore(K.of("idle", "default"), "one"), what="the worker waits for its bell")
        first = queue.enqueue(operator.add, 1, 2)
        eventually(lambda: first.get_status(refresh=True) == JobStatus.FINISHED, what="it woke")
        # what is copied before the primary dies is not lost
        eventually(_unless_cut(lambda: connection.wait(1, 500)), what="the replica has it all")
        place["primary"].kill()
        second = eventually(_unless_cut(lambda: queue.enqueue(operator.add, 3, 4)), what="the replica took over")
        finished = _unless_cut(lambda: second.get_status(refresh=True) == JobStatus.FINISHED)
        eventually(finished, what="the worker followed")
        eventually(_unless_cut(lambda: connection.zscore(K.of("idle", "default"), "one")), what="it waits again")
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.wait(30) == 0
    finally:
        worker.kill()
        worker.wait(10)


def _unless_cut(ask: Callable[[], Any]) -> Callable[[], Any]:
    """A connection that the failover cuts is no answer."""

    def look() -> Any:
        try:
            return ask()
        except RedisError:
            return None

    return look
