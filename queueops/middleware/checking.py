"""Checks of a list of middleware, wherever it is declared."""

from __future__ import annotations

import inspect
from itertools import combinations
from typing import Any

from queueops.middleware.base import Middleware
from queueops.middleware.claims import Control
from queueops.middleware.errors import DeclarationError
from queueops.middleware.quarantine import Quarantine
from queueops.middleware.retries import Retries
from queueops.middleware.shown import shown
from queueops.middleware.unique import Unique, two_of_one_lock

MOST = 16
"""Middlewares on one function or queue: the doors take all claims of a job in one step."""


def check_list(where: str, middlewares: Any) -> tuple[Middleware, ...]:
    """``middlewares`` as a tuple of instances, with nothing among them that would disagree."""
    for item in middlewares:
        if isinstance(item, type) and issubclass(item, Middleware):
            raise DeclarationError(f"{where}: write {item.__name__}(...), an instance, not the class")
        if not isinstance(item, Middleware):
            hint = "; write @controlled(...) with what it declares" if inspect.isroutine(item) else ""
            raise DeclarationError(f"{where} takes middleware, like WithoutOverlapping(), not {item!r}{hint}")
    if sum(isinstance(item, Quarantine) for item in middlewares) > 1:
        raise DeclarationError(f"{where}: one Quarantine(...) is enough; two would disagree")
    if sum(isinstance(item, Retries) for item in middlewares) > 1:
        raise DeclarationError(f"{where}: one Retries(...) is enough; two would disagree")
    uniques = [item for item in middlewares if isinstance(item, Unique)]
    for one, other in combinations(uniques, 2):
        if one.one_lock_with(other):
            raise DeclarationError(two_of_one_lock(where, one, other))
    if len(middlewares) > MOST:
        raise DeclarationError(f"{where}: {len(middlewares)} are too many; at most {MOST}")
    return tuple(middlewares)


def controls_of(middleware: Middleware, function: str) -> list[Control]:
    """What one middleware lists; an answer that is no list of controls is told of function and middleware."""
    found: Any = middleware.controls(function)
    if isinstance(found, (list, tuple)) and all(isinstance(control, Control) for control in found):
        return list(found)
    raise DeclarationError(
        f"{function}: {type(middleware).__name__}.controls() returned {shown(found, 60)}: return a list of controls, "
        'like WithSemaphore("s3-upload", limit=4).controls(function), or [] for none'
    )
