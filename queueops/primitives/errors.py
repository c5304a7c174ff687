"""Errors of controls, wherever they are declared or used."""

from __future__ import annotations


class DeclarationError(ValueError):
    """A control is declared wrongly. The text names the function and option and says how to mend it."""


class NotAcquired(Exception):
    """There was no room. ``retry_after`` is when there may be, in seconds, or None if only a release can tell."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
