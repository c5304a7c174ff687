"""RateLimiter: so many hits in a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from queueops.primitives import options
from queueops.primitives.base import Primitive, new_token
from queueops.primitives.definition import rate_control


@dataclass(frozen=True, slots=True)
class Hit:
    """The answer to a hit; true when it was allowed. ``retry_after``: seconds, 0 when allowed, at most one period."""

    allowed: bool
    retry_after: float

    def __bool__(self) -> bool:
        return self.allowed


class RateLimiter(Primitive):
    """At most ``limit`` hits in any ``per`` seconds; shared with ``RateLimited(name, limit, per)``.

    ``strategy`` and ``burst`` as there. The clock is the server's.
    """

    def __init__(
        self,
        name: str,
        limit: int,
        per: float,
        key: str = "",
        *,
        strategy: str = "sliding",
        burst: int | None = None,
        connection: Any | None = None,
    ) -> None:
        called = f"RateLimiter({name!r})"
        super().__init__(called, rate_control(called, name, limit, per, strategy, burst), key, connection)

    def hit(self, weight: int = 1) -> Hit:
        """Charge ``weight`` if there is room, in one round trip; a refused hit is not charged."""
        most = self.control.burst or self.control.limit
        weight = options.whole(self.called, "weight", weight, most=most)
        claim = self._claim if weight == 1 else self._claim.of(self.instance, self._claim.text, weight)
        allowed, wait = self._run("primitive_hit", claim.encoded(), new_token())
        if allowed:
            return Hit(True, 0.0)
        wait = int(wait)
        return Hit(False, self.control.per if wait < 0 else min(wait / 1e6, self.control.per))
