"""WithSemaphore: at most so many jobs at a time for each key."""

from __future__ import annotations

from queueops.middleware import options
from queueops.middleware.claims import Control
from queueops.middleware.control import KeyTemplate, Seconds, SharedControl, Weight
from queueops.middleware.options import YEAR, Refusal

MOST_HOLDERS = 100_000
"""The highest limit of a semaphore: each holder is remembered."""


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
        control = Control(
            "semaphore",
            options.name(owner, name),
            options.whole(owner, "limit", limit, most=MOST_HOLDERS),
            lease=None if lease is None else options.seconds(owner, "lease", lease, least=1, most=YEAR),
        )
        super().__init__(owner, control, key, weight, Refusal.made(owner, otherwise, release_after, max_wait))
