"""queueops: an operations dashboard and control plane for RQ.

The public names are loaded when first used: importing this package touches neither Django's models nor rq, so
that settings and job modules may import it freely.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.middleware import (
        Claim,
        Discard,
        Fail,
        Middleware,
        Postpone,
        Quarantine,
        RateLimited,
        Retries,
        ThrottlesExceptions,
        Unique,
        WithoutOverlapping,
        WithSemaphore,
        controlled,
    )
    from queueops.primitives import Lock, NotAcquired, RateLimiter, Semaphore
    from queueops.primitives.once import once
    from queueops.rq.dependency import dependency
    from queueops.rq.duplicates import DuplicateJob
    from queueops.rq.execution import current_execution
    from queueops.rq.freshness import freshness
    from queueops.rq.progress import progress

_HOMES = {
    "Claim": "queueops.middleware.claims",
    "Discard": "queueops.middleware.base",
    "DuplicateJob": "queueops.rq.duplicates",
    "Fail": "queueops.middleware.base",
    "Lock": "queueops.primitives",
    "Middleware": "queueops.middleware.base",
    "NotAcquired": "queueops.primitives.errors",
    "Postpone": "queueops.middleware.base",
    "Quarantine": "queueops.middleware.quarantine",
    "RateLimited": "queueops.middleware.rate",
    "RateLimiter": "queueops.primitives",
    "Retries": "queueops.middleware.retries",
    "Semaphore": "queueops.primitives",
    "ThrottlesExceptions": "queueops.middleware.breaker",
    "Unique": "queueops.middleware.unique",
    "WithSemaphore": "queueops.middleware.semaphore",
    "WithoutOverlapping": "queueops.middleware.overlap",
    "controlled": "queueops.middleware.declare",
    "current_execution": "queueops.rq.execution",
    "dependency": "queueops.rq.dependency",
    "freshness": "queueops.rq.freshness",
    "once": "queueops.primitives.once",
    "progress": "queueops.rq.progress",
}

__all__ = [
    "Claim",
    "Discard",
    "DuplicateJob",
    "Fail",
    "Lock",
    "Middleware",
    "NotAcquired",
    "Postpone",
    "Quarantine",
    "RateLimited",
    "RateLimiter",
    "Retries",
    "Semaphore",
    "ThrottlesExceptions",
    "Unique",
    "WithSemaphore",
    "WithoutOverlapping",
    "controlled",
    "current_execution",
    "dependency",
    "freshness",
    "once",
    "progress",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
