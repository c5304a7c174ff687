"""The fixtures for the tests of others, as docs/testing.md tells them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import django_rq
import pytest
from django.conf import settings
from django.test import override_settings
from redis import Redis

from queueops.testing import servers, work
from tests.rq import hook_jobs, jobs
from tests.support import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


def test_all_queues_are_on_a_server_of_its_own(own_redis: Any, redis_server: Any) -> None:
    for name in settings.RQ_QUEUES:
        path = django_rq.get_queue(name).connection.connection_pool.connection_kwargs["path"]
        assert path == own_redis.connection_pool.connection_kwargs["path"] != redis_server.url
        assert path not in redis_server.url


@pytest.fixture
def made_before(redis_server: Any) -> Any:
    """A queue as ``@django_rq.job`` makes it at import: on the server of the settings."""
    return django_rq.get_queue("default")


def test_queues_made_at_import_are_on_it_too(
    made_before: Any, own_redis: Any, redis_server: Any, run_jobs: Any
) -> None:
    path = own_redis.connection_pool.connection_kwargs["path"]
    assert made_before.__dict__["connection"].connection_pool.connection_kwargs["path"] != path
    assert made_before.connection.connection_pool.connection_kwargs["path"] == path
    job = django_rq.job(made_before)(jobs.add).delay(3, 4)
    with Redis.from_url(redis_server.url) as elsewhere:
        assert not elsewhere.exists(f"rq:job:{job.id}")
    assert [(done.id, outcome) for done, outcome in run_jobs()] == [(job.id, "completed")]


@pytest.mark.parametrize("turn", [1, 2])
def test_it_is_empty_when_a_test_begins(own_redis: Any, turn: int) -> None:
    assert own_redis.dbsize() == 0
    own_redis.set("left", turn)


def test_runs_are_told_in_order_with_their_outcomes(run_jobs: Any) -> None:
    low, default = django_rq.get_queue("low"), django_rq.get_queue("default")
    made = [low.enqueue(hook_jobs.ends, "fail"), default.enqueue(hook_jobs.ends, "well")]
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert run_jobs("high") == []
    assert [(job.id, outcome) for job, outcome in run_jobs("default", "low")] == [
        (made[1].id, "completed"), (made[0].id, "failed"),
    ]  # fmt: skip
    assert run_jobs() == [] and (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers


def test_time_passes(run_jobs: Any, pass_time: Any) -> None:
    for n in range(3):
        django_rq.get_queue("default").enqueue(jobs.mail, n)
    assert len(run_jobs()) == 2
    pass_time(59)
    assert run_jobs() == []
    pass_time(1)
    assert len(run_jobs()) == 1


def test_without_pytest() -> None:
    before = settings.RQ_QUEUES
    places = {"default": {"HOST": "nowhere.invalid", "PORT": 1, "DB": 3, "DEFAULT_TIMEOUT": 7}}
    with override_settings(RQ_QUEUES=places), servers.own_redis():
        queue = django_rq.get_queue("default")
        job = queue.enqueue(jobs.add, 1, 2)
        assert [outcome for _, outcome in work.run_jobs()] == ["completed"] and job.return_value() == 3
        assert job.timeout == 7
    assert settings.RQ_QUEUES is before


SETTINGS = """
SECRET_KEY = "tests"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django_rq", "queueops"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
RQ_QUEUES = {"default": {"HOST": "nowhere.invalid", "PORT": 1, "DB": 0}}
RQ = {
    "QUEUE_CLASS": "queueops.rq.Queue",
    "JOB_CLASS": "queueops.rq.Job",
    "WORKER_CLASS": "queueops.rq.Worker",
}
USE_TZ = True
"""


def test_the_document_is_true(tmp_path: Path) -> None:
    """Its blocks, in a project of their own."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL)
    conftest, tests, shop, case = blocks
    case += "\n    def test_it(self):\n        from shop import ship\n        import django_rq\n"
    case += "        django_rq.get_queue('default').enqueue(ship, 7)\n        assert run_jobs()[0][1] == 'completed'\n"
    files = {
        "conftest.py": conftest, "test_shop.py": tests, "shop.py": shop, "test_case.py": case, "mine.py": SETTINGS,
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ds=mine", "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0 and "4 passed" in ran.stdout, ran.stdout + ran.stderr
