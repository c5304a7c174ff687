"""`queueops worker`: which queues it serves, and as many processes as asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import django_rq
import psutil
import pytest
from redis import Redis

from queueops.management.base import VerbError
from queueops.management.verbs.worker import chosen, new_name
from tests.supervise.family import Running, gone
from tests.support import ROOT, eventually

COMMAND = [sys.executable, "manage.py", "queueops", "worker"]


def test_all_queues_in_the_order_of_the_settings(settings: Any) -> None:
    assert chosen([]) == list(settings.RQ_QUEUES)
    assert chosen(["low", "high", "low"]) == ["low", "high"]


def test_an_unknown_queue(settings: Any) -> None:
    with pytest.raises(VerbError, match=r"has no queue 'nope'; it has 'high', 'default'"):
        chosen(["nope"])


def test_queues_of_two_servers(settings: Any) -> None:
    settings.RQ_QUEUES = {"a": {"URL": "redis://one"}, "b": {"URL": "redis://two"}, "c": {"URL": "redis://one"}}
    with pytest.raises(VerbError, match="'a' and 'b' are on different Redis servers"):
        chosen([])
    assert chosen(["a", "c"]) == ["a", "c"]


def test_no_queue_at_all(settings: Any) -> None:
    settings.RQ_QUEUES = {}
    with pytest.raises(VerbError, match="names no queue"):
        chosen([])


def test_names_of_workers_differ() -> None:
    assert new_name() != new_name()


@pytest.mark.parametrize("kind", ["fork", "simple"])
def test_burst_ends_when_nothing_is_left(redis: Redis, child_env: dict[str, str], kind: str) -> None:
    jobs = [django_rq.get_queue("default").enqueue(pow, 2, 3) for _ in range(3)]
    command = [*COMMAND, "default", "low", "--burst", "--class", kind]
    answer = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    assert [job.latest_result().return_value for job in jobs] == [8, 8, 8]


def test_max_jobs_over_several_workers(redis: Redis, child_env: dict[str, str]) -> None:
    queue = django_rq.get_queue("default")
    for _ in range(7):
        queue.enqueue(pow, 2, 3)
    command = [*COMMAND, "--workers", "2", "--class", "simple", "--max-jobs", "2"]
    answer = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert queue.count == 3
    assert "worker-1 | " in answer.stdout
    assert "worker-2 | " in answer.stdout


def test_several_workers_stop_together(redis: Redis, child_env: dict[str, str]) -> None:
    running = Running([*COMMAND, "--workers", "2"], child_env)
    eventually(lambda: redis.scard("rq:workers") == 2, 60, "two workers are registered")
    family = running.family()
    assert running.end() == 0
    gone(family)


def test_a_killed_parent_takes_its_workers_along(redis: Redis, child_env: dict[str, str]) -> None:
    running = Running([*COMMAND, "--workers", "2"], child_env)
    eventually(lambda: redis.scard("rq:workers") == 2, 60, "two workers are registered")
    family = running.family()
    psutil.Process(running.process.pid).kill()
    gone(family)
    running.end()


def test_one_name_for_several(child_env: dict[str, str]) -> None:
    command = [*COMMAND, "--workers", "2", "--name", "same"]
    answer = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert answer.stderr.strip() == "queueops: --name is for one worker: several cannot have the same name"
