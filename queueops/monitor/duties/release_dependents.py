"""Dependents of jobs that ended without RQ's code looking at them: the worker died in between, or with its job."""

from __future__ import annotations

import logging
from typing import Any

from queueops.conf import conf
from queueops.monitor.duty import Context
from queueops.rq import Job, Queue
from queueops.telemetry.batch import shown

logger = logging.getLogger("queueops.monitor")

PAGE = 50


def act(context: Context) -> dict[str, Any]:
    """Let RQ decide which of them may run now. Doing it twice is harmless: a dependent leaves the parent's set."""
    parents, done, failed = conf.keys.static("parents"), 0, 0
    for raw in context.connection.srandmember(parents, PAGE) or []:
        if not context.may_go_on:
            break
        try:
            job = Job.fetch(shown(raw), connection=context.connection)
            Queue(job.origin, connection=context.connection).enqueue_dependents(job)
            done += 1
        except Exception:
            # one that cannot be read keeps no other from being released
            logger.exception("the dependents of job %s cannot be looked at", shown(raw))
            failed += 1
        context.connection.srem(parents, raw)
    return {"parents": done, "failed": failed}
