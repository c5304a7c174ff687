"""The producer: follows the plan, stays within its bounds, outlives Redis, stops at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from django.conf import settings
from django_rq import get_queue
from rq.registry import DeferredJobRegistry, FailedJobRegistry, ScheduledJobRegistry

from queueops.demo import plan, producer
from queueops.demo.producer import QUEUES, Producer
from queueops.supervise.embedded import Server
from tests.support import ROOT, eventually


def waiting(queue: str) -> int:
    found = get_queue(queue)
    registries = ScheduledJobRegistry(queue=found), DeferredJobRegistry(queue=found)
    return len(found.job_ids) + sum(registry.get_job_count(cleanup=False) for registry in registries)


def follow(shop: Producer, first: int, last: int) -> None:
    """What happens from second ``first`` to ``last``, at once."""
    for tick in range(int(first / plan.TICK), int(last / plan.TICK)):
        shop.look()
        for event in plan.events(shop.seed, tick):
            shop.do(event)


def test_fills_every_queue_within_a_minute(redis: redis_py.Redis) -> None:
    follow(Producer(), 0, 20)
    assert all(waiting(queue) for queue in QUEUES)


def test_stops_adding_to_long_queues(redis: redis_py.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "MAX_OPEN", 12)
    follow(Producer(), 0, 60)
    # only what is looked at once a tick can be over: the plain-RQ jobs, and the rest of a chain or a batch
    assert {queue: waiting(queue) for queue in QUEUES if waiting(queue) > 12 + 8} == {}
    assert waiting("mail") == 12


def test_makes_no_more_trouble_once_enough_failed(redis: redis_py.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "MAX_FAILED", 1)
    for queue in ("default", "courier", "imports"):
        redis.zadd(FailedJobRegistry(queue=get_queue(queue)).key, {"gone": 9e12})
    shop = Producer()
    shop.look()
    for kind in ("bad_batch", "bad_address", "prices"):
        shop.do(plan.Event(kind, 1))
    assert [waiting(queue) for queue in ("default", "courier", "imports")] == [0, 0, 0]


def test_an_order_is_a_chain(redis: redis_py.Redis) -> None:
    shop = Producer()
    shop.look()
    shop.do(plan.Event("order", 5))
    assert [len(get_queue(queue).job_ids) for queue in ("high", "courier", "mail")] == [1, 0, 0]
    assert [waiting(queue) for queue in ("high", "courier", "mail")] == [1, 1, 1]


def test_the_older_part_of_the_shop_knows_only_rq(redis: redis_py.Redis) -> None:
    shop = Producer()
    shop.do(plan.Event("stock", 5))
    (job_id,) = get_queue("default").job_ids
    assert not [field for field in redis.hkeys(f"rq:job:{job_id}") if field.startswith(b"qo_")]


def test_outlives_redis(own_server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for options in settings.RQ_QUEUES.values():
        monkeypatch.setitem(options, "URL", own_server.url)
    monkeypatch.setattr(producer, "RETRY_CONNECTION", 0.1)
    stop = threading.Event()
    thread = threading.Thread(target=Producer().run, args=(stop,))
    thread.start()
    try:
        eventually(lambda: waiting("default"), what="first jobs")
        own_server.kill()
        eventually(lambda: "cannot reach Redis" in caplog.text, what="a word about it")
        own_server.start()
        before = waiting("default")
        eventually(lambda: waiting("default") > before, what="jobs after the restart")
    finally:
        stop.set()
        thread.join()


def test_does_not_catch_up_with_a_long_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []
    stop = threading.Event()
    clock = iter([0.0, 3600.0, 3600.0])

    def events(seed: int, tick: int) -> list[Any]:
        ticks.append(tick)
        if len(ticks) == 2:
            stop.set()
        return []

    monkeypatch.setattr(plan, "events", events)
    monkeypatch.setattr(producer.time, "monotonic", lambda: next(clock))
    shop = Producer()
    done: list[str] = []
    monkeypatch.setattr(shop, "look", lambda: None)
    monkeypatch.setattr(shop, "do", lambda event: done.append(event.what))
    shop.run(stop)
    assert ticks == [0, int(3600 / plan.TICK)]
    assert done == ["bad_batch", "forgotten_lock"]  # once each: the rare troubles are what there is to see


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_stops_at_once(
    redis: redis_py.Redis, child_env: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "manage.py", "queueops", "demo"]
    env = {**child_env, "QUEUEOPS_STATE_DIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            eventually(lambda: process.poll() is not None or redis.exists("rq:queues"), what="first jobs")
            assert process.poll() is None, process.communicate()[1]
            begun = time.monotonic()
            process.send_signal(number)
            _, errors = process.communicate(timeout=10)
        finally:
            process.kill()
    assert time.monotonic() - begun < 2
    assert (process.returncode, "Traceback" in errors) == (0, False), errors
