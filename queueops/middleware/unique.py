"""Unique: no second job of the same kind while the first one counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from queueops.middleware.base import Middleware
from queueops.middleware.call import Call
from queueops.middleware.canonical import NoStableForm, canonical
from queueops.middleware.claims import Claim, Control, instance_and_text, micros
from queueops.middleware.control import KeyTemplate, Seconds
from queueops.middleware.errors import ClaimError, DeclarationError
from queueops.middleware.shown import shown
from queueops.middleware.signature import Signature
from queueops.middleware.templates import Key
from queueops.primitives import options
from queueops.primitives.options import YEAR

LOCKS = ("until_executing", "until_executed", "until_expired", "while_executing", "until_and_while_executing")
CONFLICTS = ("log", "raise", "reject", "replace", "reschedule", "coalesce")
RUN_CONFLICTS = ("wait", "drop", "reject", "reschedule")
MOST_RESCHEDULES = 10
"""How often one job is put off before it goes to quarantine."""

_FREED = {
    "until_executing": "start",
    "until_and_while_executing": "start",
    "until_executed": "end",
    "until_expired": "ttl",
}
"""When the lock taken at enqueue is given back."""


@dataclass(frozen=True, slots=True)
class UniqueClaim:
    """What one job needs to be the only one of ``instance`` from enqueue on. ``ttl`` and ``delay`` in µs, 0 = none.

    ``freed``: "start" of the body, "end" of the job, or "ttl".
    """

    instance: str
    text: str
    freed: str
    ttl: int
    on_conflict: str
    delay: int

    def fields(self) -> dict[str, Any]:
        return {
            "i": self.instance,
            "t": self.text,
            "l": self.freed,
            "e": self.ttl,
            "c": self.on_conflict,
            "d": self.delay,
        }


def encode_uniques(claims: Iterable[UniqueClaim]) -> str:
    """The text stored on the job; "" when it has none."""
    found = [claim.fields() for claim in claims]
    return json.dumps(found, separators=(",", ":")) if found else ""


def two_of_one_lock(where: str, one: Unique, other: Unique) -> str:
    """What is told of two Uniques that name one lock."""
    return (
        f"{where}: {one.owner} and {other.owner} are one lock: a lock belongs to its key. Leave one out, or give one "
        'another key, like key="recent:{book_id}"'
    )


class Unique(Middleware):
    """One job per key, from enqueue on (see docs/uniqueness.md for the five locks, by example).

    ``key``: as for the other controls; without it all arguments count. ``ttl`` in seconds, from when the job may
    run: required for until_expired, else an upper bound of the lock that never ends it while its job waits.
    ``on_conflict``: what becomes of the second job; ``runtime_on_conflict``: the same for the locks taken when a
    job starts. ``delay``: seconds between two tries of a rescheduled job. ``across_queues``: jobs of other queues
    count, too. ``across_functions``: jobs of other functions that say so and have the same key count, too.
    """

    def __init__(
        self,
        lock: str,
        key: KeyTemplate | None = None,
        *,
        ttl: Seconds | None = None,
        on_conflict: str = "log",
        delay: Seconds = 5,
        runtime_on_conflict: str = "wait",
        across_queues: bool = False,
        across_functions: bool = False,
    ) -> None:
        self.owner = f"Unique({lock!r})"
        self._one_of("lock", lock, LOCKS)
        self._one_of("on_conflict", on_conflict, CONFLICTS)
        self._one_of("runtime_on_conflict", runtime_on_conflict, RUN_CONFLICTS)
        self.lock = lock
        self.on_conflict = on_conflict
        self.runtime_on_conflict = runtime_on_conflict
        self.ttl = None if ttl is None else options.seconds(self.owner, "ttl", ttl, most=YEAR)
        self.delay = options.seconds(self.owner, "delay", delay, most=YEAR)
        for option, value in (("across_queues", across_queues), ("across_functions", across_functions)):
            if not isinstance(value, bool):
                raise DeclarationError(f"{self.owner}: {option} must be True or False, not {value!r}")
        self.across_queues, self.across_functions = across_queues, across_functions
        self._key = None if key is None else Key(self.owner, key)
        self._fits_together()

    def _one_of(self, option: str, value: object, known: tuple[str, ...]) -> None:
        if value not in known:
            hint = ""
            if option == "runtime_on_conflict" and value in CONFLICTS:
                hint = "; a job that is about to start cannot do that any more"
            raise DeclarationError(f"{self.owner}: {option} must be one of {', '.join(known)}, not {value!r}{hint}")

    def _fits_together(self) -> None:
        if self.lock == "until_expired" and self.ttl is None:
            raise DeclarationError(f"{self.owner} ends by its ttl alone: give ttl=600, in seconds")
        if self.lock == "while_executing" and (self.ttl is not None or self.on_conflict != "log"):
            raise DeclarationError(
                f"{self.owner} takes nothing at enqueue: leave out ttl and on_conflict, and say runtime_on_conflict"
            )
        if self._freed in ("end", "ttl") and self.runtime_on_conflict != "wait":
            raise DeclarationError(f"{self.owner} takes nothing when the job starts: leave out runtime_on_conflict")
        if self.lock == "until_expired" and self.on_conflict == "coalesce":
            raise DeclarationError(
                f'{self.owner} with on_conflict="coalesce" would keep the newest arguments until its ttl is over: '
                'write lock="until_executed"'
            )

    def __repr__(self) -> str:
        return f"<{self.owner}>"

    @property
    def _freed(self) -> str:
        return _FREED.get(self.lock, "")

    @property
    def _at_start(self) -> bool:
        return self.lock in ("while_executing", "until_and_while_executing")

    def controls(self, function: str) -> list[Control]:
        """Not listed before the first job: the names hold the queue."""
        return []

    def check(self, function: str, signature: Signature) -> None:
        options.name(f"{self.owner} on {function}", function)
        if self._key:
            self._key.check(self.owner, function, signature)

    def needs_call(self) -> bool:
        return True

    def one_lock_with(self, other: Unique) -> bool:
        """Whether the two name one lock whatever the call: each would believe that it is its own."""
        return (
            bool((self._freed and other._freed) or (self._at_start and other._at_start))
            and (self._key and self._key.template) == (other._key and other._key.template)
            and (self.across_queues, self.across_functions) == (other.across_queues, other.across_functions)
        )

    def claims(self, call: Call) -> list[Claim]:
        """The lock of the running job, for the two kinds that have one."""
        if not self._at_start:
            return []
        name, key, text = self._identity(call)
        instance, key_text = instance_and_text("unique_run", name, key)
        return [
            Claim(
                instance=instance,
                control=Control("unique_run", name).id,
                otherwise=self.runtime_on_conflict,
                release_after=micros(self.delay) if self.runtime_on_conflict == "reschedule" else 0,
                text=text or key_text,
            )
        ]

    def uniques(self, call: Call) -> list[UniqueClaim]:
        """The lock taken at enqueue, for the four kinds that have one."""
        if not self._freed:
            return []
        name, key, text = self._identity(call)
        instance, key_text = instance_and_text("unique", name, key)
        return [
            UniqueClaim(instance, text or key_text, self._freed, micros(self.ttl), self.on_conflict, micros(self.delay))
        ]

    def _identity(self, call: Call) -> tuple[str, str, str]:
        """``(name, key, readable text or "")``: function and queue unless they do not count, then the key."""
        name = "any function" if self.across_functions else call.function
        if not self.across_queues:
            name += f" on {call.queue}"
        if self._key is not None:
            key = self._key.render(self.owner, call)
            # of its own kind: no given key looks like the hash of arguments
            return name, key if not key.startswith("*") else f"*{key}", ""
        try:
            hashed = hashlib.sha256(canonical(dict(call.arguments))).hexdigest()
        except NoStableForm as problem:
            raise ClaimError(
                f"{call.function}: {self.owner}: argument {problem}: name the ones that count, like "
                f'key="{{{next(iter(call.arguments), "book_id")}}}"'
            ) from None
        text = ", ".join(f"{name}={shown(value)}" for name, value in call.arguments.items())
        return name, f"*{hashed}", text[:200].encode("utf-8", "replace").decode()
