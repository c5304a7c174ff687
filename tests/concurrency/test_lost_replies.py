"""Each answer of Redis is lost in turn: what is asked again is harmless, and what is not is left to the lease."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis.exceptions
from rq import Queue as PlainQueue
from rq import Retry
from rq.job import Dependency

from queueops.conf import conf
from queueops.rdb import doors
from queueops.rdb.client import Server
from queueops.rdb.scripts import SCHEMA, run
from queueops.rq import Queue, SimpleWorker
from queueops.testing import clock
from tests.chaos import judge
from tests.concurrency import jobs
from tests.concurrency.cut import Cutter
from tests.concurrency.look import nothing_left

K = conf.keys
LOST = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)


@pytest.fixture
def cutter(redis_server: Any) -> Iterator[Cutter]:
    with tempfile.TemporaryDirectory(prefix="qo-") as home:
        made = Cutter(redis_server.url, Path(home) / "cut.sock")
        yield made
        made.close()


@pytest.fixture
def movable_clock() -> Iterator[None]:
    clock.install()
    yield
    clock.remove()


def produce(connection: Any) -> set[str]:
    """Enqueue three jobs; those that Redis said yes to."""
    queue, accepted = Queue("default", connection=connection), set()
    for put in (
        lambda: queue.enqueue(jobs.everything, "a", job_id="controlled"),
        lambda: queue.enqueue(jobs.failing, job_id="failing", retry=Retry(max=1)),
        lambda: queue.enqueue(jobs.free, job_id="unique", unique=True),
    ):
        # without resending, the caller cannot know: it is there, or it is not
        with suppress(*LOST):
            accepted.add(put().id)
    return accepted


def work(connection: Any) -> None:
    worker = SimpleWorker([Queue("default", connection=connection)], connection=connection)
    worker.pubsub_thread = None
    worker.subscribe = lambda: None  # type: ignore[method-assign]  (its thread's traffic would not repeat)
    worker.work(burst=True, logging_level="CRITICAL")


def round_trip(redis: Any, cutter: Cutter, cut: int, resend: bool) -> set[str]:
    """Produce and work with answer ``cut`` lost; the jobs that were accepted."""
    redis.flushall()
    run(redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")
    jobs.RUNS.clear()
    PlainQueue("default", connection=redis).enqueue(jobs.everything, "plain", job_id="plain")
    connection = cutter.client(resend)
    cutter.arm(cut)
    accepted = produce(connection)
    for _ in range(10):
        # no worker can start while Redis does not answer
        with suppress(*LOST):
            work(connection)
        clock.advance(redis, 600)
        if not redis.hlen(K.static("leases")) and not redis.llen(K.of("rq_queue", "default")):
            break
    connection.close()
    return accepted | {"plain"}


@pytest.mark.parametrize("resend", [True, False])
def test_every_answer_may_be_lost(redis: Any, cutter: Cutter, movable_clock: None, resend: bool) -> None:
    round_trip(redis, cutter, 0, resend)
    answers = cutter.answers
    assert answers > 15
    assert Counter(jobs.RUNS) == {"plain": 1, "a": 1, "failing": 2, "free": 1}
    for cut in range(1, answers + 1):
        accepted = round_trip(redis, cutter, cut, resend)
        doors.tick(Server("default", redis, ("default",)))
        log = judge.events(redis, K)
        ends = Counter(event["job"] for event in log if event["e"] in judge.ENDS)
        what = f"answer {cut} lost: {[(e['e'], e.get('job'), e.get('why')) for e in log if e['e'].startswith('job.')]}"
        assert set(ends.values()) == {1}, what
        assert ends.keys() >= accepted, what
        assert not resend or len(accepted) == 4, what
        assert not judge.ledger_balances(redis, K, log), what
        nothing_left(redis)
        if resend:
            assert Counter(jobs.RUNS) == {"plain": 1, "a": 1, "failing": 2, "free": 1}, what


@pytest.mark.parametrize("resend", [True, False])
def test_dependents_run_once_whichever_answer_is_lost(
    redis: Any, cutter: Cutter, movable_clock: None, resend: bool
) -> None:
    """Whatever becomes of its parent: no monitor runs here."""
    answers, cut = 0, 0
    while cut <= answers:
        redis.flushall()
        run(redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")
        jobs.RUNS.clear()
        queue = Queue("default", connection=redis)
        parent = queue.enqueue(jobs.failing, job_id="failing")
        queue.enqueue(jobs.free, job_id="free", depends_on=Dependency([parent], allow_failure=True))
        connection = cutter.client(resend)
        cutter.arm(cut)
        for _ in range(3):
            with suppress(*LOST):
                work(connection)
            clock.advance(redis, 600)
        answers = answers or cutter.answers
        connection.close()
        log = judge.events(redis, K)
        told = [(event["e"], event.get("job"), event.get("why")) for event in log]
        assert Counter(jobs.RUNS)["free"] == 1, f"answer {cut} lost: {told}"
        assert not resend or Counter(jobs.RUNS) == {"failing": 1, "free": 1}, f"answer {cut} lost: {told}"
        assert not redis.exists(K.static("parents")) and not judge.ledger_balances(redis, K, log)
        nothing_left(redis)
        cut += 1
    assert answers > 10


def test_an_enqueue_asked_again_after_its_job_has_ended_runs_nothing(redis: Any) -> None:
    run(redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")
    queue = Queue("default", connection=redis)
    job = queue.create_job(jobs.free, job_id="one", timeout=60)
    call = {
        "mode": "queue", "job_id": "one", "queue": "default", "function": job.function,
        "mapping": {**job.to_dict(), "status": "queued"},
    }  # fmt: skip
    jobs.RUNS.clear()
    doors.enqueue(redis, **call)
    work(redis)
    again = doors.enqueue(redis, **call)
    assert again is not None
    assert again.code == "OK"
    work(redis)
    assert jobs.RUNS == ["free"]
    assert judge.totals(redis, K)["accepted"] == 1
