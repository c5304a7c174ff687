"""Checks of declared options. Each error says which option is wrong and what to write instead."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass

from queueops.primitives.errors import DeclarationError

YEAR = 366 * 86400
"""The longest time of any option, in seconds."""

MAX_NAME = 200
"""Bytes of a name in UTF-8."""


def whole(owner: str, option: str, value: object, *, most: int, least: int = 1) -> int:
    """``value`` as an int between ``least`` and ``most``; True and 1.0 are refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise DeclarationError(f"{owner}: {option} must be a whole number, not {value!r}")
    if not least <= value <= most:
        hint = " (an operator's live limit of 0 stops it; a declared one cannot)" if option == "limit" else ""
        raise DeclarationError(f"{owner}: {option} must be between {least} and {most}, not {value}{hint}")
    return value


def seconds(
    owner: str, option: str, value: object, *, most: float, least: float = 0.000001, zero: bool = False
) -> float:
    """``value`` as seconds (a number or a timedelta), above zero and at most ``most``."""
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise DeclarationError(f"{owner}: {option} must be a number of seconds or a timedelta, not {value!r}")
    if not (value == 0 and zero) and not least <= value <= most:
        low = f"at least {least:g}" if least >= 1 else "more than 0"
        raise DeclarationError(f"{owner}: {option} must be {low} and at most {most:g} seconds, not {value:g}")
    return float(value)


def name(owner: str, value: object) -> str:
    """A control's name: printable text of at most 200 bytes."""
    if not isinstance(value, str):
        raise DeclarationError(f"{owner}: name must be text, not {value!r}")
    if not value.strip() or not value.isprintable():
        raise DeclarationError(f"{owner}: name must be printable text, not empty, without control characters")
    if len(value.encode()) > MAX_NAME:
        raise DeclarationError(f"{owner}: name is longer than {MAX_NAME} bytes: give a shorter name=")
    return value


@dataclass(frozen=True, slots=True)
class Refusal:
    """What happens to a job that a control refuses. Times in seconds, None = not used."""

    otherwise: str = "wait"
    release_after: float | None = None
    max_wait: float | None = None

    @classmethod
    def made(cls, owner: str, otherwise: object, release_after: object, max_wait: object) -> Refusal:
        if otherwise not in ("wait", "drop"):
            raise DeclarationError(f'{owner}: otherwise must be "wait" or "drop", not {otherwise!r}')
        if otherwise == "drop" and (release_after is not None or max_wait is not None):
            raise DeclarationError(
                f'{owner}: otherwise="drop" never waits: leave out release_after and max_wait, or write "wait"'
            )
        return cls(
            str(otherwise),
            None if release_after is None else seconds(owner, "release_after", release_after, most=YEAR),
            None if max_wait is None else seconds(owner, "max_wait", max_wait, most=YEAR),
        )
