"""What is said of a run that did not complete. An error may refuse to be shown, or be megabytes long: it is said."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from queueops.middleware import Discard, Fail, Postpone
from queueops.rq.fingerprint import fingerprint

TEXT = 64_000
"""Characters kept of a traceback: its beginning and its end."""
LINE = 500
"""Characters kept of one line about an error."""
NO_TEXT = "(its text cannot be shown)"


def plain(value: object, most: int = LINE) -> str:
    """The first characters of ``value`` as text that can be stored anywhere: lone surrogates are escaped."""
    try:
        text = str.__str__(str(value))  # a subclass of str is left behind
    except BaseException:
        return NO_TEXT
    return text[:most].encode("utf-8", "backslashreplace").decode()[:most]


def short(text: str) -> str:
    """The same for a long text, which loses its middle: the end of a traceback says what happened."""
    text = text.encode("utf-8", "backslashreplace").decode()
    left_out = len(text) - TEXT
    if left_out <= 0:
        return text
    half = TEXT // 2
    return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"


def error_line(error: BaseException | None) -> str:
    """Type and text of an error."""
    name = type.__dict__["__name__"].__get__(type(error))  # whatever its metaclass says
    return plain(f"{name}: {plain(error)}")


def traceback_text(kind: type | None, error: BaseException | None, trace: TracebackType | None) -> str:
    """As Python prints it, or as much of that as the error allows."""
    ways: tuple[Callable[[], list[str]], ...] = (
        lambda: traceback.format_exception(kind, error, trace),
        lambda: ["Traceback (most recent call last):\n", *traceback.format_tb(trace), error_line(error)],
    )
    for way in ways:
        with suppress(BaseException):
            return short("".join(way()))
    return error_line(error)


def verdict(word: Postpone | Discard) -> tuple[str, dict[str, Any]]:
    """Outcome and options for the settle door. Raises for a ``Postpone`` whose seconds are none (any more)."""
    if isinstance(word, Postpone):
        return "postponed", {"seconds": Postpone(word.seconds).seconds, "reason": plain(word)}
    return "discarded", {"reason": plain(word.reason)}


def failure(kind: Any, error: BaseException | None, traceback: Any, function: str) -> dict[str, Any]:
    """What the settle door is told of an error. ``reason`` says that it is final."""
    told = {"fingerprint": fingerprint(kind, function, traceback), "error": error_line(error)}
    if issubclass(kind, Fail):
        told["reason"] = plain(error)
    return told


class PlainRecords(logging.Filter):
    """A record of the log is held to the same: no text that a stream cannot write, none of megabytes."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            record.msg = short(record.getMessage())
        except BaseException:
            record.msg = NO_TEXT
        record.args = ()
        return True
