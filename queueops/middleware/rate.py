"""RateLimited: at most so many starts in a time for each key."""

from __future__ import annotations

from queueops.middleware.control import KeyTemplate, Seconds, SharedControl, Weight
from queueops.primitives.definition import rate_control
from queueops.primitives.options import Refusal


class RateLimited(SharedControl):
    """At most ``limit`` starts in any ``per`` seconds per key. A start is charged whatever its outcome.

    ``strategy``: ``"sliding"`` (never more than ``limit`` in any ``per`` seconds), ``"window"`` (opens at the first
    start; up to twice the limit around its edge), ``"bucket"`` (fills at ``limit / per`` up to ``burst``).
    ``weight``: how much one start is charged. The rest as in ``WithoutOverlapping``.
    """

    def __init__(
        self,
        name: str,
        limit: int,
        per: Seconds,
        key: KeyTemplate = "",
        *,
        strategy: str = "sliding",
        burst: int | None = None,
        weight: Weight = 1,
        otherwise: str = "wait",
        release_after: Seconds | None = None,
        max_wait: Seconds | None = None,
    ) -> None:
        owner = f"RateLimited({name!r})"
        control = rate_control(owner, name, limit, per, strategy, burst)
        super().__init__(owner, control, key, weight, Refusal.made(owner, otherwise, release_after, max_wait))
