"""dependency: how long an outside service lets the jobs wait, and how often it fails."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import RedisError
from rq import get_current_job
from rq.timeouts import BaseTimeoutException

from queueops.rdb import scripts
from queueops.rdb.bins import bin_of
from queueops.rq.execution import CurrentExecution, current_execution

logger = logging.getLogger("queueops.rq")

LONGEST = 100
"""Characters of a name that are kept."""
NAMES = 20
"""Names that one run may use; what it uses beyond them counts as ``…``."""
EVERY = 5.0
"""Seconds after which a run that lasts tells what it has used; the rest goes with its end."""


@dataclass(slots=True)
class _Used:
    calls: int = 0
    errors: int = 0
    micros: int = 0
    bins: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Run:
    used: dict[str, _Used]
    told_at: float


_runs: dict[str, _Run] = {}
"""By token: what a run has used and not yet told."""
_lock = threading.Lock()


@contextmanager
def dependency(name: str) -> Iterator[None]:
    """Measures the block as one call of the outside service ``name``: its time, and an error if it raises.

    ::

        with dependency("courier-api"):
            requests.post(...)

    Latency and errors of each name are shown on Diagnosis, compared with their own last 24 hours, and are part of the
    recovery verdict. It costs no round trip (one every 5 seconds in a job that lasts), and never fails the job: a name
    is cut at 100 characters, the 21st name of a run counts as ``…``. Outside a job nothing is measured.
    """
    run = current_execution()
    if run is None:
        yield
        return
    start = time.monotonic()
    failed = True
    try:
        yield
        failed = False
    except Exception:
        raise
    except BaseException:
        failed = False  # the process is to end: no fault of the service
        raise
    finally:
        _note(run, _name(name), time.monotonic() - start, failed)


def told(token: str) -> list[list[Any]]:
    """What the run of ``token`` has used and not told, as the scripts take it."""
    with _lock:
        run = _runs.get(token)
        return _plain(run.used) if run else []


def forget(token: str) -> None:
    """The end of the run has been recorded."""
    with _lock:
        _runs.pop(token, None)


def _name(name: object) -> str:
    text = str(name)[:LONGEST].encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() else "�" for char in text) or "?"


def _note(run: CurrentExecution, name: str, seconds: float, failed: bool) -> None:
    with _lock:
        mine = _runs.setdefault(run.token, _Run({}, time.monotonic()))
        if name not in mine.used and len(mine.used) >= NAMES:
            name = "…"
        used = mine.used.setdefault(name, _Used())
        used.calls += 1
        used.errors += failed
        used.micros += round(seconds * 1e6)
        place = bin_of(seconds * 1000)
        used.bins[place] = used.bins.get(place, 0) + 1
        now = time.monotonic()
        if now - mine.told_at < EVERY:
            return
        mine.told_at = now
        due, mine.used = _plain(mine.used), {}
    _tell(run, due)


def _tell(run: CurrentExecution, used: list[list[Any]]) -> None:
    job = get_current_job()
    if job is None:
        return
    try:
        scripts.run(job.connection, "dependencies", run.token, json.dumps(used))
    except BaseTimeoutException:
        raise
    except (RedisError, OSError) as error:
        logger.debug("what %s used is not told: %s", run.job_id, error)


def _plain(used: dict[str, _Used]) -> list[list[Any]]:
    return [
        [name, one.calls, one.errors, one.micros, {str(place): n for place, n in one.bins.items()}]
        for name, one in used.items()
    ]
