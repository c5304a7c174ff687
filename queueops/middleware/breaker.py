"""ThrottlesExceptions: a circuit breaker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from queueops.middleware.base import Verdict
from queueops.middleware.claims import Control, micros
from queueops.middleware.control import KeyTemplate, Seconds, SharedControl
from queueops.middleware.exceptions import checked_exceptions
from queueops.primitives import options
from queueops.primitives.options import YEAR, Refusal

MOST_FAILURES = 10_000
CHARGED = ("i", "c", "k", "n", "per", "b")
"""What the settle door needs of a claim."""


class ThrottlesExceptions(SharedControl):
    """After ``max`` failures within ``per`` seconds nothing of this key starts for ``backoff`` seconds: jobs park.

    ``on``: which exceptions count. ``backoff``: ``per`` unless given. ``name`` shares the breaker across functions;
    without it each function has its own. When the time is over the jobs are let in; while failures still fill
    ``per``, the next one parks them again. Retries are not touched: a failed attempt is a failed attempt.
    """

    def __init__(
        self,
        max: int,
        per: Seconds,
        key: KeyTemplate = "",
        *,
        name: str | None = None,
        on: type[Exception] | tuple[type[Exception], ...] = (Exception,),
        backoff: Seconds | None = None,
        max_wait: Seconds | None = None,
    ) -> None:
        owner = f"ThrottlesExceptions({max!r}, {per!r})"
        seconds = options.seconds(owner, "per", per, most=YEAR)
        pause = seconds if backoff is None else options.seconds(owner, "backoff", backoff, most=YEAR)
        self.on = checked_exceptions(owner, on)
        control = Control(
            "breaker",
            "" if name is None else options.name(owner, name),
            options.whole(owner, "max", max, most=MOST_FAILURES),
            seconds,
            burst=micros(pause),
        )
        super().__init__(owner, control, key, 1, Refusal.made(owner, "wait", None, max_wait))

    def around(self, job: Any, call_next: Callable[[], Any]) -> Any:
        """Notes a failure that counts; the settle door charges it."""
        try:
            return call_next()
        except Verdict:
            raise
        except self.on:
            control = self.control(job.function).id
            for claim in json.loads(job.claims_text or "[]"):
                if claim["c"] == control:
                    job.breakers = [*job.breakers, {name: claim[name] for name in CHARGED}]
            raise
