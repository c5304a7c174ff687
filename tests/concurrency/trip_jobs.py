"""The jobs of test_round_trips."""

from __future__ import annotations

from queueops import RateLimited, WithoutOverlapping, WithSemaphore, controlled


def nothing(n: int) -> int:
    return n


@controlled(
    WithoutOverlapping(key="{n}"),
    WithSemaphore("trips-disk", limit=4),
    RateLimited("trips-mail", limit=10_000, per=60),
)
def under_three(n: int) -> int:
    return n


@controlled(WithoutOverlapping("trips-one"))
def one_at_a_time(n: int) -> int:
    return n
