"""WithSemaphore: at most so many jobs at a time for each key."""

from __future__ import annotations

from queueops.middleware.control import KeyTemplate, Seconds, SharedControl, Weight
from queueops.primitives import options
from queueops.primitives.definition import held_control
from queueops.primitives.options import Refusal


class WithSemaphore(SharedControl):
    """Holders of at most ``limit`` weight at a time per key; each holder has its own expiry.

    ``weight``: 1 to ``limit``, or a callable given the arguments. The rest as in ``WithoutOverlapping``.
    """

    def __init__(
        self,
        name: str,
        limit: int,
        key: KeyTemplate = "",
        *,
        weight: Weight = 1,
        lease: Seconds | None = None,
        otherwise: str = "wait",
        release_after: Seconds | None = None,
        max_wait: Seconds | None = None,
    ) -> None:
        owner = f"WithSemaphore({name!r})"
        control = held_control(owner, "semaphore", options.name(owner, name), limit, lease)
        super().__init__(owner, control, key, weight, Refusal.made(owner, otherwise, release_after, max_wait))
