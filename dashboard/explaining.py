"""Why a job is not running, from ``operations.explain``; a page never fails for want of an explanation."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from redis.exceptions import RedisError

from queueops import operations
from queueops.diagnosis import doors, explain
from queueops.diagnosis.doors import Doors
from queueops.diagnosis.explain import Explanation
from queueops.diagnosis.job_facts import JobFacts

logger = logging.getLogger("queueops.dashboard")


@dataclass(frozen=True, slots=True)
class Why:
    """The sentence and its facts, and what each door says; ``doors`` is None for a job that no server has."""

    told: Explanation
    doors: Doors | None
    sentence: str


def why(job_id: str, facts: JobFacts | None) -> Why | None:
    """The explanation of a job from what is known of it (None: nothing); None when it cannot be made now."""
    try:
        told = explain.told(job_id, facts)
        found = doors.doors(facts) if facts is not None else None
    except (RedisError, operations.OperationError):
        logger.warning("no explanation of job %r", job_id, exc_info=True)
        return None
    return Why(told, found, told.sentence)
