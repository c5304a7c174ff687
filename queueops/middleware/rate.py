"""RateLimited: at most so many starts in a time for each key."""

from __future__ import annotations

from queueops.middleware import options
from queueops.middleware.claims import Control
from queueops.middleware.control import KeyTemplate, Seconds, SharedControl, Weight
from queueops.middleware.errors import DeclarationError
from queueops.middleware.options import YEAR, Refusal

STRATEGIES = ("sliding", "window", "bucket")
MOST_REMEMBERED = 10_000
"""The highest limit of the sliding strategy, which remembers each start."""
MOST_COUNTED = 1_000_000_000


def rate_control(owner: str, name: object, limit: object, per: object, strategy: object, burst: object) -> Control:
    """The checked definition of a rate. ``burst`` None: the bucket holds ``limit``."""
    if strategy not in STRATEGIES:
        raise DeclarationError(f"{owner}: strategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
    if strategy == "sliding" and isinstance(limit, int) and limit > MOST_REMEMBERED:
        raise DeclarationError(
            f"{owner}: the sliding strategy remembers each start and takes a limit up to {MOST_REMEMBERED}, "
            f'not {limit}: write strategy="window" or "bucket"'
        )
    if burst is not None and strategy != "bucket":
        raise DeclarationError(f'{owner}: burst belongs to strategy="bucket"; leave it out')
    whole = options.whole(owner, "limit", limit, most=MOST_COUNTED)
    if strategy == "bucket":
        burst = whole if burst is None else options.whole(owner, "burst", burst, most=MOST_COUNTED)
    return Control(
        "rate",
        options.name(owner, name),
        whole,
        options.seconds(owner, "per", per, most=YEAR),
        str(strategy),
        burst if isinstance(burst, int) else 0,
    )


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
