"""Options that name exceptions."""

from __future__ import annotations

from queueops.middleware.errors import DeclarationError


def checked_exceptions(owner: str, value: object) -> tuple[type[Exception], ...]:
    """``value`` as a tuple of exception classes."""
    kinds = value if isinstance(value, tuple) else (value,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise DeclarationError(f"{owner}: on must be exception classes, like on=(ConnectionError,), not {kind!r}")
    if not kinds:
        raise DeclarationError(f"{owner}: on=() names no exception: leave it out, and every one counts")
    return kinds
