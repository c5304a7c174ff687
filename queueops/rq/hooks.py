"""The hooks of a job's middlewares around its run, and after it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from queueops.middleware import Middleware
from queueops.middleware.registry import registry
from queueops.rq.failures import error_line, traceback_text
from queueops.rq.job import Job

logger = logging.getLogger("queueops.rq")

Hooks = tuple[Middleware, ...]


def hooks_of(job: Job) -> Hooks:
    """The middlewares with hooks of their own, outermost first, found by the function's name: the arguments are read
    where the job runs, alone.
    """
    try:
        return registry.hooks(job.function, job.origin) if job.function else ()
    except Exception as error:
        # the run itself will fail with the same error, and that failure is recorded
        logger.warning("job %s: its declarations cannot be read: %s", job.id, error_line(error))
        return ()


def through(hooks: Hooks, job: Job) -> Any:
    """The body inside the ``around`` hooks, the first declared outermost."""
    call: Callable[[], Any] = job.perform
    for middleware in reversed(hooks):
        call = _wrapped(middleware, job, call)
    return call()


def tell(hooks: Hooks, job: Job, outcome: str, leaves: Callable[[BaseException], bool]) -> None:
    """The ``settled`` hooks. What one raises is logged and changes nothing, unless the process ``leaves`` with it."""
    for middleware in hooks:
        try:
            middleware.settled(job, outcome)
        except BaseException as error:
            if leaves(error):
                raise
            name = f"{type(middleware).__module__}.{type(middleware).__qualname__}"
            logger.error("the settled hook of %s raised\n%s", name, traceback_text(*sys.exc_info()))


def _wrapped(middleware: Middleware, job: Any, inner: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: middleware.around(job, inner)
