"""A typed, recursive text of a value that is the same in every process: equal values give equal bytes, unequal ones
different bytes.

Each value is written as a tag, its length and its content, so that no value can look like a part of another. Equal in
Python is equal here, but for numbers of different types: ``1``, ``1.0``, ``True`` and ``"1"`` all differ. Decimals and
aware datetimes are compared by value (``1.1`` and ``1.10``, one instant in two zones). Text is not normalised: a
composed and a decomposed é differ.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import math
import uuid
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

DEEPEST = 50
"""Levels of nesting; a list that holds itself is deeper than any."""


class NoStableForm(TypeError):
    """A value inside has no text that another process would find, too. The message says where and of what type."""


def canonical(value: Any) -> bytes:
    """The canonical bytes of ``value``. Raises :class:`NoStableForm`."""
    return _encode(value, "", 0)


def _encode(value: Any, path: str, depth: int) -> bytes:
    if depth > DEEPEST:
        raise NoStableForm(f"{path or 'the value'} is nested more than {DEEPEST} levels deep")
    if value is None or value is True or value is False:
        return {None: b"n", True: b"t", False: b"f"}[value]
    for kinds, write in _PLAIN:
        if isinstance(value, kinds):
            return write(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [
            _pair(field.name, _encode(getattr(value, field.name), f"{path}.{field.name}", depth + 1))
            for field in dataclasses.fields(value)
            if field.compare
        ]
        return _tagged("C", _name(type(value)) + b"".join(sorted(parts)))
    if isinstance(value, (list, tuple)):
        items = [_encode(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
        return _tagged("l" if isinstance(value, list) else "p", b"".join(items))
    if isinstance(value, (set, frozenset)):
        return _tagged("S", b"".join(sorted(_encode(item, f"{path}{{…}}", depth + 1) for item in value)))
    if isinstance(value, Mapping):
        pairs = [
            _encode(key, f"{path} key", depth + 1) + _encode(item, f"{path}[{_short(key)}]", depth + 1)
            for key, item in value.items()
        ]
        return _tagged("m", b"".join(sorted(pairs)))
    raise NoStableForm(f"{path or 'the value'} is a {type(value).__qualname__}, which has no stable form")


def _tagged(tag: str, content: bytes) -> bytes:
    return b"%b%d:%b" % (tag.encode(), len(content), content)


def _text(value: str) -> bytes:
    return _tagged("s", value.encode("utf-8", "surrogatepass"))


def _pair(name: str, content: bytes) -> bytes:
    return _text(name) + content


def _name(kind: type) -> bytes:
    return _text(f"{kind.__module__}.{kind.__qualname__}")


def _enum(value: enum.Enum) -> bytes:
    # a combination of flags has no name of its own
    member = value.name if value.name is not None else repr(value.value)
    return _tagged("E", _name(type(value)) + _text(member))


def _float(value: float) -> bytes:
    return _tagged("d", b"nan" if math.isnan(value) else repr(float(value) + 0.0).encode())


def _int(value: int) -> bytes:
    # not decimal: Python refuses to write very long numbers that way
    return _tagged("i", b"%x" % value)


def _decimal(value: decimal.Decimal) -> bytes:
    if not value.is_finite():
        return _tagged("D", str(value).encode())
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    # as the digits and the power of ten, whatever zeros it was written with
    power = int(exponent) + len(text) - len(kept)
    return _tagged("D", f"{'-' if sign and kept else ''}{kept}e{power if kept else 0}".encode())


def _datetime(value: dt.datetime) -> bytes:
    if value.utcoffset() is None:
        return _tagged("N", value.replace(fold=0, tzinfo=None).isoformat().encode())
    return _tagged("T", value.astimezone(dt.UTC).isoformat().encode())


def _delta(value: dt.timedelta) -> bytes:
    return _tagged("e", f"{value.days},{value.seconds},{value.microseconds}".encode())


_PLAIN: tuple[tuple[Any, Callable[[Any], bytes]], ...] = (
    # an enum may be a str or an int as well, a datetime is a date
    (enum.Enum, _enum),
    (str, _text),
    (int, _int),
    (float, _float),
    ((bytes, bytearray), lambda value: _tagged("b", bytes(value))),
    (decimal.Decimal, _decimal),
    (uuid.UUID, lambda value: _tagged("u", value.bytes)),
    (dt.datetime, _datetime),
    (dt.date, lambda value: _tagged("a", value.isoformat().encode())),
    (dt.time, lambda value: _tagged("h", value.replace(fold=0).isoformat().encode())),
    (dt.timedelta, _delta),
    (PurePath, lambda value: _tagged("P", _name(type(value)) + _text(str(value)))),
)


def _short(key: Any) -> str:
    """A key inside an error text."""
    return repr(key)[:40] if isinstance(key, (str, int)) else "…"
