"""progress: a running job says how far it is."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from redis.exceptions import RedisError
from rq import get_current_job
from rq.timeouts import BaseTimeoutException

from queueops.rdb import scripts
from queueops.rq.execution import current_execution

logger = logging.getLogger("queueops.rq")

EVERY = 0.5
"""Seconds between two writes: what is told more often is not sent, but for the end."""
MOST = 10**15
"""The largest number that is shown."""
NOTE = 200
"""Characters of the note that are kept."""

_next: tuple[str, float] = ("", 0.0)
"""The run that told something last, and when it may again."""
_warned = ""
"""The run whose worker's log says already that it told what cannot be shown."""


def progress(done: float, total: float | None = None, note: str = "") -> None:
    """Tell that ``done`` of ``total`` is done, and what is going on; shown live on the job's page.

    Cheap enough to be called for each item: at most two writes a second, and one at the end (``done >= total``).
    It never fails the job: what is no number from 0 to 10**15 is not shown, and a warning says so once for each run.
    Outside a job, and while Redis is silent, it does nothing.
    """
    global _next
    run, job, now = current_execution(), get_current_job(), time.monotonic()
    if run is None or job is None:
        return
    due = _next[1] if _next[0] == run.token else now
    try:
        done, total = _number("done", done), None if total is None else _number("total", total)
        ended = total is not None and done >= total
        # the end may come one turn early: the next turn is then later, so that a loop of ends is no faster
        if now < (due - EVERY if ended else due):
            return
        shown = str(note)[:NOTE].encode("utf-8", "replace").decode()
    except BaseTimeoutException:
        raise
    except Exception as problem:
        _warn(run.token, run.job_id, problem)
        return
    _next = (run.token, max(due, now) + EVERY)
    text = json.dumps({"token": run.token, "done": done, "total": total, "note": shown})
    try:
        scripts.run(job.connection, "progress", run.job_id, run.token, text)
    except RedisError as error:
        logger.debug("progress of %s is not told: %s", run.job_id, error)


def _number(name: str, value: Any) -> float:
    """``value`` as a plain number that JSON and a page can show. Raises ValueError for any other."""
    if type(value) not in (int, float) and (isinstance(value, bool) or not hasattr(value, "__float__")):
        raise ValueError(f"{name} must be a number, not of type {type(value).__name__}")
    if not 0 <= value <= MOST:
        raise ValueError(f"{name} must be a number from 0 to 10**15")
    return int(value) if isinstance(value, int) else float(value)


def _warn(token: str, job_id: str, problem: Exception) -> None:
    global _warned
    if _warned != token:
        _warned = token
        logger.warning("progress of %s is not shown: %s", job_id, problem)
