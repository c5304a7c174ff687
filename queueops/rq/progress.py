"""progress: a running job says how far it is."""

from __future__ import annotations

import json
import logging
import time

from redis.exceptions import RedisError
from rq import get_current_job

from queueops.rdb import scripts
from queueops.rq.execution import current_execution

logger = logging.getLogger("queueops.rq")

EVERY = 0.5
"""Seconds between two writes: what is told more often is not sent, but for the end."""
NOTE = 200
"""Characters of the note that are kept."""

_told: tuple[str, float] = ("", 0.0)


def progress(done: float, total: float | None = None, note: str = "") -> None:
    """Tell that ``done`` of ``total`` is done, and what is going on; shown live on the job's page.

    Cheap enough to be called for each item: at most two writes a second, and one at the end (``done >= total``).
    Outside a job, and while Redis is silent, it does nothing. Raises ``ValueError`` for what is no number.
    """
    global _told
    for name, value in (("done", done), ("total", total)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value != value):
            raise ValueError(f"progress: {name} must be a number, not {value!r}")
    run, job, now = current_execution(), get_current_job(), time.monotonic()
    if run is None or job is None:
        return
    token, at = _told
    ended = total is not None and done >= total
    if token == run.token and now - at < EVERY and not ended:
        return
    _told = (run.token, now)
    text = json.dumps(
        {"token": run.token, "done": done, "total": total, "note": str(note)[:NOTE].encode("utf-8", "replace").decode()}
    )
    try:
        scripts.run(job.connection, "progress", run.job_id, run.token, text)
    except RedisError as error:
        logger.debug("progress of %s is not told: %s", run.job_id, error)
