"""Checked definitions of controls, the same for jobs and for primitives."""

from __future__ import annotations

from queueops.primitives import options
from queueops.primitives.claim import Control
from queueops.primitives.errors import DeclarationError
from queueops.primitives.options import YEAR

MOST_HOLDERS = 100_000
"""The highest limit of a semaphore: each holder is remembered."""

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


def held_control(owner: str, kind: str, name: object, limit: object = 1, lease: object = None) -> Control:
    """The checked definition of a lock or semaphore. ``name`` None: to be named later. ``lease`` in seconds."""
    return Control(
        kind,
        "" if name is None else options.name(owner, name),
        options.whole(owner, "limit", limit, most=MOST_HOLDERS),
        lease=None if lease is None else options.seconds(owner, "lease", lease, least=1, most=YEAR),
    )
