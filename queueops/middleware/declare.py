"""The decorator ``@controlled``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from queueops.middleware.base import Middleware
from queueops.middleware.checking import check_list
from queueops.middleware.errors import DeclarationError
from queueops.middleware.registry import ATTRIBUTE, registry

F = TypeVar("F", bound=Callable[..., Any])


def controlled(*middlewares: Middleware) -> Callable[[F], F]:
    """Declare what a job function shares with others. The function itself stays as it is.

    ::

        @controlled(WithoutOverlapping(key="book:{book_id}"), WithSemaphore("s3-upload", limit=4))
        def crunch_sales(book_id, user_id): ...
    """
    checked = check_list("@controlled", middlewares)

    def declare(function: F) -> F:
        if isinstance(function, (classmethod, staticmethod)):
            raise DeclarationError(f"@controlled goes below @{type(function).__name__}, next to the def")
        if not inspect.isroutine(function):
            raise DeclarationError(f"@controlled belongs on a function, not on {function!r}")
        everything = (*checked, *getattr(function, ATTRIBUTE, ()))
        check_list("@controlled", everything)
        registry.declare(function, everything)
        setattr(function, ATTRIBUTE, everything)
        return function

    return declare
