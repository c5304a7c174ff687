"""The contract of a middleware: a class of hooks that do nothing until overridden."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from queueops.primitives.options import YEAR, seconds

if TYPE_CHECKING:
    from rq.job import Job

    from queueops.middleware.call import Call
    from queueops.middleware.claims import Claim, Control
    from queueops.middleware.signature import Signature


class Middleware:
    """What a job may declare. Subclass it and override any of the hooks.

    One instance serves every job of the functions that name it, in several processes and threads: keep no state
    of a job on it.
    """

    def claims(self, call: Call) -> list[Claim]:
        """What the job must hold to run. Asked once, when the job is created; the answer is stored on the job.

        All claims of a job are taken in one step, or none of them. It runs in the enqueuing process: read
        ``call.arguments``, touch neither network nor database. An exception reaches the caller of ``enqueue``, and
        an answer that is no list of claims is a ``ClaimError``.
        """
        return []

    def around(self, job: Job, call_next: Callable[[], Any]) -> Any:
        """Runs around the job's body, in the work horse, while the claims are held.

        Return ``call_next()`` or another result. May raise :class:`Postpone`, :class:`Discard` or :class:`Fail`;
        any other exception fails the attempt as if the body had raised it.
        """
        return call_next()

    def settled(self, job: Job, outcome: str) -> None:
        """Runs in the worker (not in the work horse) once after each run, with the outcome as it was recorded.

        ``completed``, ``failed`` (finally), ``retried``, ``quarantined``, ``discarded``, ``postponed``, ``put_back``
        (its worker was stopped) or ``crashed`` (its process died, or its lease was lost); ``unknown`` when Redis was
        silent until the lease was over. An exception is logged and changes nothing.
        """

    def controls(self, function: str) -> list[Control]:
        """The controls it uses for this function, so that they are listed before the first job asks for them."""
        return []

    def check(self, function: str, signature: Signature) -> None:
        """Called once a function is known to use it: raise ``DeclarationError`` when the two do not fit."""

    def needs_call(self) -> bool:
        """Whether the claims differ from call to call. False lets them be made once for each function."""
        return type(self).claims is not Middleware.claims


class Verdict(Exception):
    """A body or an ``around`` hook decides the outcome of its own run by raising one of these."""


class Postpone(Verdict):
    """Come back later: not a failure, no retry is used up, claims are given back."""

    def __init__(self, seconds_: float, reason: str = "") -> None:
        self.seconds = seconds("Postpone", "seconds", seconds_, most=YEAR, zero=True)
        self.reason = str(reason)
        super().__init__(self.seconds, self.reason)

    def __str__(self) -> str:
        return f"postponed for {self.seconds:g} s" + (f": {self.reason}" if self.reason else "")


class Discard(Verdict):
    """The work is no longer wanted: the job ends as ``discarded``, neither completed nor failed."""

    def __init__(self, reason: str = "") -> None:
        self.reason = str(reason)
        super().__init__(self.reason)


class Fail(Verdict):
    """Trying again is useless: the job fails finally, whatever retries are left."""

    def __init__(self, reason: str = "") -> None:
        self.reason = str(reason)
        super().__init__(self.reason)
