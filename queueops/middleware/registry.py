"""What each function declares, and the claims of one job.

Declarations come from ``@controlled`` and from ``QUEUEOPS["CONTROLS"]``, whose keys are dotted function names and
``"queue:<name>"``. Both apply together: the function's own first, then its entry in the settings, then its queue's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.signals import setting_changed

from queueops.conf import conf
from queueops.middleware import functions
from queueops.middleware.base import Middleware
from queueops.middleware.call import Call
from queueops.middleware.checking import controls_of
from queueops.middleware.claims import Claim, merged
from queueops.middleware.definitions import Definitions
from queueops.middleware.errors import ClaimError
from queueops.middleware.quarantine import Quarantine
from queueops.middleware.retries import Retries
from queueops.middleware.settings import Entries, read
from queueops.middleware.shown import shown
from queueops.middleware.signature import Signature
from queueops.middleware.unique import Unique, encode_uniques, two_of_one_lock

ATTRIBUTE = "__queueops__"
"""On a decorated function: the tuple of its middlewares."""

_PLANS = 4096
"""Functions and queues remembered; beyond it the memory starts afresh."""


@dataclass(frozen=True, slots=True)
class JobControls:
    """What one job is created with. ``policy`` is the quarantine rule and is not to be changed."""

    function: str
    claims: tuple[Claim, ...]
    policy: dict[str, int]
    middlewares: tuple[Middleware, ...]
    """Those with an ``around`` or ``settled`` of their own, outermost first."""
    uniques: str = ""
    """What the job must be the only one of, as stored."""
    retries: Retries | None = None


class _Plan:
    """What a function on a queue declares, worked out once."""

    __slots__ = ("claimers", "constant", "function", "hooks", "policy", "retries", "signature", "uniques")

    def __init__(self, function: str, signature: Signature, middlewares: tuple[Middleware, ...], queue: str) -> None:
        self.function = function
        self.signature = signature
        for middleware in middlewares:
            middleware.check(function, signature)
        self.claimers = tuple(m for m in middlewares if type(m).claims is not Middleware.claims)
        self.uniques = tuple(m for m in middlewares if isinstance(m, Unique))
        tries = [m for m in middlewares if isinstance(m, Retries)]
        self.retries = tries[0] if tries else None
        self.hooks = tuple(m for m in middlewares if _has_hooks(type(m)))
        rules = [m for m in middlewares if isinstance(m, Quarantine)]
        self.policy = rules[0].policy() if rules else dict(conf.QUARANTINE)
        self.constant: JobControls | None = None
        if not any(m.needs_call() for m in self.claimers):
            self.constant = self.controls(queue, (), {})

    def controls(self, queue: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> JobControls:
        call = Call(self.function, queue, args, kwargs, self.signature)
        claims = merged([claim for m in self.claimers for claim in _claims(m, call)])
        uniques = encode_uniques([claim for m in self.uniques for claim in m.uniques(call)])
        if len(self.uniques) > 1:
            self._tell_apart(call)
        return JobControls(self.function, claims, self.policy, self.hooks, uniques, self.retries)

    def _tell_apart(self, call: Call) -> None:
        """Two Uniques that this call makes one lock: the second would silently count for nothing."""
        met: dict[str, Unique] = {}
        for unique in self.uniques:
            at_enqueue = [claim.instance for claim in unique.uniques(call)]
            for instance in (*at_enqueue, *(claim.instance for claim in unique.claims(call))):
                if instance in met:
                    raise ClaimError(two_of_one_lock(call.function, met[instance], unique))
                met[instance] = unique


class Registry:
    """The declarations of this process."""

    def __init__(self) -> None:
        self._definitions = Definitions()
        self._entries = Entries()
        self._source: object = None
        self._plans: dict[tuple[str, Callable[..., Any], str], _Plan] = {}

    def declare(self, function: Callable[..., Any], middlewares: tuple[Middleware, ...]) -> None:
        """Check and record what ``@controlled`` says of a function. Raises ``DeclarationError``."""
        name = functions.clean(functions.own_name(function))
        signature = Signature(function)
        for middleware in middlewares:
            middleware.check(name, signature)
        controls = [control for m in middlewares for control in controls_of(m, name)]
        self._definitions.put(name, f"{name} ({_line(function)})", controls)
        self._plans.clear()

    def job_controls(
        self,
        func_name: str,
        func: Callable[..., Any] | None,
        args: tuple[Any, ...] | list[Any],
        kwargs: Mapping[str, Any],
        queue: str,
    ) -> JobControls | None:
        """The controls of one job, from what ``enqueue`` was given.

        ``func`` None means that only a dotted path is known; its module is imported if need be. The answer is None
        where this process does not have the code: such a job is enqueued without claims, and the worker, which
        has the code, makes all of them when it adopts the job. Raises ``ClaimError`` when the call does not give
        what a key needs, ``ImproperlyConfigured`` when ``QUEUEOPS["CONTROLS"]`` is wrong.
        """
        if func is None:
            func = functions.find(func_name)
            if func is None:
                return None
        function, args, kwargs = functions.unwrap(func, tuple(args), kwargs)
        if conf.CONTROLS is not self._source:
            self._read_settings()
        plan = self._plans.get((func_name, function, queue)) or self._plan(func_name, function, queue)
        return plan.constant or plan.controls(queue, args, kwargs)

    def hooks(self, func_name: str, queue: str) -> tuple[Middleware, ...]:
        """Those of a function's middlewares with an ``around`` or ``settled`` of their own, outermost first.

        Imports the function's module if need be; empty where this process does not have the code.
        """
        func = functions.find(func_name)
        if func is None:
            return ()
        function, _, _ = functions.unwrap(func, (), {})
        if conf.CONTROLS is not self._source:
            self._read_settings()
        plan = self._plans.get((func_name, function, queue)) or self._plan(func_name, function, queue)
        return plan.hooks

    @property
    def version(self) -> int:
        """Grows with every declaration."""
        return self._definitions.version

    def definitions(self) -> dict[str, dict[str, Any]]:
        """Control id → definition of all that is declared so far, as published to Redis (times in µs)."""
        if conf.CONTROLS is not self._source:
            self._read_settings()
        return {control.id: control.definition() for control in self._definitions}

    def check_settings(self) -> None:
        """Read ``QUEUEOPS["CONTROLS"]`` now. Raises ``ImproperlyConfigured`` that names the entry and the fix."""
        self._read_settings()

    def forget_plans(self) -> None:
        """Work everything out afresh, e.g. after a changed setting."""
        self._plans.clear()
        self._source = None

    def _plan(self, func_name: str, function: Callable[..., Any], queue: str) -> _Plan:
        name = functions.name_of(func_name, function)
        own: tuple[Middleware, ...] = getattr(function, ATTRIBUTE, ())
        plan = _Plan(name, Signature(function), (*own, *self._entries.of(name, func_name, queue)), queue)
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        self._plans[func_name, function, queue] = plan
        return plan

    def _read_settings(self) -> None:
        source = conf.CONTROLS
        self._entries = read(source, self._definitions)
        self._plans.clear()
        self._source = source


def _claims(middleware: Middleware, call: Call) -> list[Claim]:
    """What one middleware claims; an answer that is no list of claims is told of function and middleware."""
    found: Any = middleware.claims(call)
    if isinstance(found, (list, tuple)) and all(isinstance(claim, Claim) for claim in found):
        return list(found)
    raise ClaimError(
        f"{call.function}: {type(middleware).__name__}.claims() returned {shown(found, 60)}: return a list of claims, "
        'like WithSemaphore("s3-upload", limit=4).claims(call), or [] for none'
    )


def _has_hooks(cls: type[Middleware]) -> bool:
    return cls.around is not Middleware.around or cls.settled is not Middleware.settled


def _line(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "no source line"


registry = Registry()


def _changed(**_: object) -> None:
    registry.forget_plans()


setting_changed.connect(_changed, dispatch_uid="queueops.middleware.registry")

job_controls = registry.job_controls
definitions = registry.definitions
check_settings = registry.check_settings
