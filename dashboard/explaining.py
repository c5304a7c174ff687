"""Why a job is not running, from ``operations.explain``; a page never fails for want of an explanation."""

from __future__ import annotations

import logging
from typing import Any

from redis.exceptions import RedisError

from queueops import operations

logger = logging.getLogger("queueops.dashboard")


def why(job_id: str) -> Any:
    """The explanation of a job; None when it cannot be made now."""
    try:
        return operations.explain(job_id)
    except (RedisError, operations.OperationError):
        logger.warning("no explanation of job %r", job_id, exc_info=True)
        return None
