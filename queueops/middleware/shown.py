"""The arguments of a call as people read them: short, and made in bounded time of any value."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

DEEPEST = 5
"""Levels that are written out."""
LONG = 10**30
"""A larger number is written in hexadecimal: Python refuses to write very long ones otherwise."""


def shown(value: Any, room: int = 200) -> str:
    """About ``repr(value)``, of which at most ``room`` characters are made and kept."""
    text = ""
    try:
        for part in _parts(value, room, 0):
            text += part
            if len(text) > room:
                return text[: room - 1] + "…"
    except Exception:
        text += "…"  # a mapping or a field of the project's own may raise anything
    return text


def _parts(value: Any, room: int, depth: int) -> Iterator[str]:
    kind = type(value).__name__
    if depth > DEEPEST:
        yield "…"
    elif isinstance(value, enum.Enum):
        yield f"{kind}.{value.name}" if value.name else f"{kind}({value.value!r})"
    elif isinstance(value, (str, bytes, bytearray)):
        yield _text(value[: room + 1])
    elif type(value) is int and abs(value) > LONG:
        # of a number with a million digits the first ones only
        yield f"{'-' if value < 0 else ''}0x{abs(value) >> max(0, abs(value).bit_length() - 4 * room):x}"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = ((f"{field.name}=", getattr(value, field.name, None)) for field in dataclasses.fields(value))
        yield from _several(f"{kind}(", ")", named, room, depth)
    elif isinstance(value, list):
        yield from _several("[", "]", (("", item) for item in value), room, depth)
    elif isinstance(value, tuple):
        yield from _several("(", ",)" if len(value) == 1 else ")", (("", item) for item in value), room, depth)
    elif isinstance(value, (set, frozenset)):
        yield from _several("{", "}", (("", item) for item in value), room, depth)
    elif isinstance(value, Mapping):
        pairs = ((f"{shown(key, room)}: ", item) for key, item in islice(value.items(), room))
        yield from _several("{", "}", pairs, room, depth)
    else:
        yield _text(value)


def _several(start: str, end: str, items: Iterator[tuple[str, Any]], room: int, depth: int) -> Iterator[str]:
    yield start
    for at, (name, item) in enumerate(items):
        yield f"{', ' if at else ''}{name}"
        yield from _parts(item, room, depth + 1)
    yield end


def _text(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
