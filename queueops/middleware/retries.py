"""Retries: try again a few times, waiting longer each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from queueops.middleware.base import Middleware, Verdict
from queueops.middleware.errors import DeclarationError
from queueops.middleware.exceptions import checked_exceptions
from queueops.primitives import options
from queueops.primitives.options import YEAR

if TYPE_CHECKING:
    from rq.job import Job

MOST = 100
JITTER = 0.5
"""The most that chance adds, as a part of a wait: less than doubling, so that exponential waits still grow."""


class Retries(Middleware):
    """A failed attempt is tried again, at most ``max`` times. ``retry=`` given at enqueue wins.

    ``backoff``: ``"exponential"`` (``base`` seconds, doubled each time, at most ``cap``), or a list of seconds whose
    last one is used again. ``jitter``: up to half as much on top, so that jobs that failed together do not come back
    together. ``on``: only these exceptions are worth another try; any other one fails the job at once.
    """

    def __init__(
        self,
        max: int = 3,
        backoff: str | list[float] | tuple[float, ...] = "exponential",
        *,
        base: float = 10,
        cap: float = 3600,
        jitter: bool = True,
        on: type[Exception] | tuple[type[Exception], ...] = (Exception,),
    ) -> None:
        self.owner = f"Retries({max!r})"
        self.max = options.whole(self.owner, "max", max, most=MOST)
        self.base = options.seconds(self.owner, "base", base, most=YEAR)
        self.cap = options.seconds(self.owner, "cap", cap, most=YEAR)
        self.on = checked_exceptions(self.owner, on)
        if not isinstance(jitter, bool):
            raise DeclarationError(f"{self.owner}: jitter must be True or False, not {jitter!r}")
        self.jitter = jitter
        self._list: tuple[float, ...] = ()
        if isinstance(backoff, (list, tuple)) and backoff:
            self._list = tuple(options.seconds(self.owner, "backoff", each, most=YEAR, zero=True) for each in backoff)
        elif backoff != "exponential":
            raise DeclarationError(f'{self.owner}: backoff must be "exponential" or a list of seconds, not {backoff!r}')

    def __repr__(self) -> str:
        return f"<{self.owner}>"

    def waits(self) -> list[int]:
        """Whole seconds before each retry, as RQ keeps them on the job."""
        plain = [self._list[min(n, len(self._list) - 1)] if self._list else self.base * 2**n for n in range(self.max)]
        capped = [wait if self._list else min(wait, self.cap) for wait in plain]
        return [round(wait * (1 + random.random() * JITTER)) if self.jitter else round(wait) for wait in capped]

    def around(self, job: Job, call_next: Callable[[], Any]) -> Any:
        """An exception that is not worth another try leaves none."""
        try:
            return call_next()
        except Verdict:
            raise
        except self.on:
            raise
        except Exception:
            job.retries_left = None
            raise
