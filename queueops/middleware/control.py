"""What WithoutOverlapping, WithSemaphore and RateLimited have in common: a control, a key, a weight, a refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from queueops.conf import conf
from queueops.middleware.base import Middleware
from queueops.middleware.call import Call
from queueops.middleware.claims import Claim, Control, instance_and_text, micros
from queueops.middleware.errors import ClaimError
from queueops.middleware.signature import Signature
from queueops.middleware.templates import ArgumentCaller, Key
from queueops.primitives import options
from queueops.primitives.options import Refusal

Weight = int | Callable[..., int]
KeyTemplate = str | Callable[..., str]
Seconds = float  # a number of seconds; a timedelta is taken too

_PATTERNS = 1024


class SharedControl(Middleware):
    """Base of the controls that a job claims: see its three subclasses."""

    name: str | None

    def __init__(self, owner: str, template: Control, key: KeyTemplate, weight: Weight, refusal: Refusal) -> None:
        self.owner = owner
        self.name = template.name or None
        self.refusal = refusal
        self._template = template
        self._key = Key(owner, key)
        # A bucket never holds more than its burst, so a heavier job would wait for ever.
        self._most = template.burst or template.limit
        self._patterns: dict[tuple[str, float], Claim] = {}
        self._weigher: ArgumentCaller | None = None
        self._weight = 1
        if callable(weight):
            self._weigher = ArgumentCaller(owner, "weight", weight)
        else:
            self._weight = options.whole(owner, "weight", weight, most=self._most)

    def __repr__(self) -> str:
        return f"<{self.owner}>"

    def control(self, function: str) -> Control:
        """Its definition; a lock without a name belongs to the function alone."""
        if self._template.name:
            return self._template
        return replace(self._template, name=options.name(f"{self.owner} on {function}", function))

    def controls(self, function: str) -> list[Control]:
        return [self.control(function)]

    def check(self, function: str, signature: Signature) -> None:
        self.control(function)
        self._key.check(self.owner, function, signature)
        if self._weigher:
            self._weigher.check(function, signature)

    def needs_call(self) -> bool:
        return self._key.constant is None or self._weigher is not None

    def claims(self, call: Call) -> list[Claim]:
        pattern = self._patterns.get((call.function, conf.LEASE)) or self._pattern(call.function)
        instance, text = instance_and_text(pattern.kind, pattern.name, self._key.render(self.owner, call))
        return [pattern.of(instance, text, self._weight if self._weigher is None else self._weigh(call, self._weigher))]

    def _pattern(self, function: str) -> Claim:
        """The claim of a function but for key and weight, remembered."""
        control = self.control(function)
        pattern = Claim(
            instance="",
            control=control.id,
            limit=control.limit,
            per=micros(control.per),
            strategy=control.strategy,
            burst=control.burst,
            lease=control.lease_micros(),
            otherwise=self.refusal.otherwise,
            release_after=micros(self.refusal.release_after),
            max_wait=micros(self.refusal.max_wait),
        )
        if len(self._patterns) >= _PATTERNS:
            self._patterns.clear()
        self._patterns[function, conf.LEASE] = pattern
        return pattern

    def _weigh(self, call: Call, weigher: ArgumentCaller) -> int:
        weight: Any = weigher(call.function, call.arguments)
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= self._most:
            raise ClaimError(
                f"{call.function}: {self.owner}: weight must be a whole number between 1 and {self._most}, "
                f"but its callable returned {weight!r}"
            )
        return weight
