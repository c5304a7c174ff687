"""``python -m tests.chaos.nursery``: a process that has everything imported and forks the others on request.

A line ``KIND NAME SEED`` on stdin starts a process; its pid is the answer on stdout. Forked from here, a killed
process is replaced in milliseconds. All of them die with the nursery, and the nursery with the test.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import django

QUEUES = ("high", "default", "low")
BACKLOG = 40


def main() -> None:
    django.setup()
    import django_rq  # noqa: F401  (imported before any fork)

    import queueops.monitor.loop
    import queueops.rq
    import queueops.rq.worker  # noqa: F401
    import tests.chaos.jobs  # noqa: F401
    from queueops.supervise.family import tie_to_parent
    from queueops.testing import clock

    clock.install()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    print("ready", flush=True)
    for line in sys.stdin:
        kind, name, seed = line.split()
        tie = tie_to_parent()
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        code = 1
        try:
            tie()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            os.setpgid(0, 0)
            code = ROLES[kind](name, int(seed)) or 0
        except SystemExit as end:
            code = int(end.code or 0) if not isinstance(end.code, str) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)


def _worker(simple: bool) -> Callable[[str, int], Any]:
    def work(name: str, seed: int) -> None:
        from django_rq import get_queue

        from queueops.rq import SimpleWorker, Worker

        random.seed(seed)
        names = list(QUEUES)
        queues = [get_queue(queue) for queue in names]
        worker = (SimpleWorker if simple else Worker)(queues, name=name, connection=queues[0].connection)
        worker.work(logging_level=os.environ.get("CHAOS_LOG", "ERROR"))

    return work


def _monitor(name: str, seed: int) -> int:
    from queueops.monitor import loop

    return loop.run()


def _offer(name: str, number: int, put: Callable[[str], Any]) -> None:
    import redis.exceptions

    from tests.chaos import record

    job_id = f"{name}-{number}"
    record.write("offered", job_id)
    try:
        made = put(job_id)
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
        record.write("unknown", job_id)
        time.sleep(0.1)
    else:
        # another job that counts already stands for it
        record.write("accepted" if made.id == job_id else "duplicate", job_id)


def _call(dice: random.Random) -> Callable[[str], Any]:
    """One of the ways to enqueue one of the jobs; the answer takes the job's id."""
    from django_rq import get_queue
    from rq import Retry

    from tests.chaos import jobs

    queue = get_queue(dice.choice(QUEUES))
    seconds = dice.choice((0.0, 0.02, 0.1, 0.2, 0.4))
    key = dice.choice("ab")
    weight = dice.choice((1, 1, 2, 4))
    soon = timedelta(seconds=dice.choice((0.2, 1, 2)))
    ways: tuple[Callable[[str], Any], ...] = (
        lambda i: queue.enqueue(jobs.locked, key, seconds, job_id=i),
        lambda i: queue.enqueue(jobs.sole, key, seconds, job_id=i),
        lambda i: queue.enqueue(jobs.single, key, seconds, job_id=i),
        lambda i: queue.enqueue(jobs.slotted, seconds, job_id=i, at_front=weight > 2),
        lambda i: queue.enqueue(jobs.weighty, weight=weight, seconds=seconds, job_id=i),
        lambda i: queue.enqueue(jobs.limited, seconds, job_id=i),
        lambda i: queue.enqueue(jobs.everything, key, seconds, job_id=i),
        lambda i: queue.enqueue(jobs.shaky, seconds, job_id=i, retry=Retry(max=3, interval=weight - 1)),
        lambda i: queue.enqueue(jobs.doomed, seconds, job_id=i),
        lambda i: queue.enqueue(jobs.free, seconds, job_id=i, result_ttl=dice.choice((0, 500, -1))),
        lambda i: queue.enqueue(
            jobs.free, 0.0, job_id=i, depends_on=queue.enqueue(jobs.locked, key, seconds, job_id=f"{i}p")
        ),
        lambda i: queue.enqueue_in(soon, jobs.locked, key, seconds, job_id=i),
    )
    return dice.choice(ways)


def _wait_for_room() -> None:
    """A machine that is too slow for the load gets less of it."""
    import redis.exceptions
    from django_rq import get_connection

    connection = get_connection("default")
    with suppress(redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
        while sum(connection.llen(f"rq:queue:{queue}") for queue in QUEUES) > BACKLOG:
            time.sleep(0.2)


def _producer(name: str, seed: int) -> None:
    dice = random.Random(seed)
    pause = float(os.environ["CHAOS_PAUSE"])
    for number in range(1_000_000):
        _offer(name, number, _call(dice))
        time.sleep(dice.random() * 2 * pause)
        _wait_for_room()


def _plain(queue: Any, call: tuple[Any, ...], job_id: str) -> Any:
    return queue.enqueue(*call, job_id=job_id)


def _stranger(name: str, seed: int) -> None:
    """A producer that knows only rq, and asks once: what RQ's own resending does is not ours to judge."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
    from rq import Queue

    from tests.chaos import jobs

    connection = redis.Redis.from_url(os.environ["REDIS_URL"], retry=Retry(NoBackoff(), 0))
    dice = random.Random(seed)
    for number in range(1_000_000):
        queue = Queue(dice.choice(QUEUES), connection=connection)
        call: tuple[Any, ...] = dice.choice(
            ((jobs.locked, dice.choice("ab"), 0.02), (jobs.slotted, 0.05), (jobs.free, 0.0), (jobs.limited, 0.0))
        )
        _offer(name, number, partial(_plain, queue, call))
        time.sleep(dice.random())
        _wait_for_room()


ROLES: dict[str, Callable[[str, int], Any]] = {
    "fork": _worker(simple=False),
    "simple": _worker(simple=True),
    "monitor": _monitor,
    "producer": _producer,
    "stranger": _stranger,
}

if __name__ == "__main__":
    main()
