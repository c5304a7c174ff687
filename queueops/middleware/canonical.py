"""A typed, recursive text of a value that is the same in every process: equal values give equal bytes, unequal ones
different bytes.

Each value is written as a tag, its length and its content, so that no value can look like a part of another. Equal in
Python is equal here, but for numbers of different types and enums: ``1``, ``1.0``, ``True``, ``"1"`` and ``Level.ONE``
all differ. Decimals, aware datetimes and aware times are compared by value (``1.1`` and ``1.10``, one instant in two
zones). Text is not normalised: a composed and a decomposed é differ.

The form is the same in every version of Python; a type is written by name only where the name is the project's own.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import hashlib
import math
import uuid
from collections.abc import Callable, Mapping
from pathlib import PurePath, PureWindowsPath
from typing import Any

DEEPEST = 50
"""Levels of nesting; a list that holds itself is deeper than any."""


class NoStableForm(TypeError):
    """A value inside has no text that another process would find, too. The message says where and of what type."""


LONGEST = 1000
"""Bytes of what a container holds that are written out; of more, the digest is."""


def canonical(value: Any) -> bytes:
    """The canonical bytes of ``value``. Raises :class:`NoStableForm`."""
    try:
        return _Encoder().encode(value, "", 0)
    except NoStableForm:
        raise
    except Exception as problem:
        # a mapping, a time zone or a field of the project's own may raise anything
        raise NoStableForm(f"values cannot all be read ({type(problem).__name__})") from problem


class _Encoder:
    """One call: what is met a second time on the same level is not written anew."""

    def __init__(self) -> None:
        # with the object itself, so that its id is not given to another one
        self._met: dict[tuple[int, int], tuple[Any, bytes]] = {}

    def encode(self, value: Any, path: str, depth: int) -> bytes:
        if depth > DEEPEST:
            raise NoStableForm(f"{path or 'the value'} is nested more than {DEEPEST} levels deep")
        if value is None or value is True or value is False:
            return {None: b"n", True: b"t", False: b"f"}[value]
        for kinds, write in _PLAIN:
            if isinstance(value, kinds):
                return write(value)
        met = self._met.get((id(value), depth))
        if met is None:
            met = self._met[id(value), depth] = value, self._container(value, path, depth + 1)
        return met[1]

    def _container(self, value: Any, path: str, depth: int) -> bytes:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            parts = [
                _text(field.name) + self.encode(getattr(value, field.name), f"{path}.{field.name}", depth)
                for field in dataclasses.fields(value)
                if field.compare
            ]
            return _held("C", [_name(type(value)), *sorted(parts)])
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{path}[{at}]", depth) for at, item in enumerate(value)]
            return _held("l" if isinstance(value, list) else "p", items)
        if isinstance(value, (set, frozenset)):
            return _held("S", sorted(self.encode(item, f"{path}{{…}}", depth) for item in value))
        if isinstance(value, Mapping):
            pairs = [
                self.encode(key, f"{path} key", depth) + self.encode(item, f"{path}[{_short(key)}]", depth)
                for key, item in value.items()
            ]
            return _held("m", sorted(pairs))
        raise NoStableForm(f"{path or 'the value'} is a {type(value).__qualname__}, which has no stable form")


def _held(tag: str, parts: list[bytes]) -> bytes:
    """A container: by its digest when it is long, or one list that is shared on many levels would double on each."""
    content = b"".join(parts)
    if len(content) > LONGEST:
        return b"%b#%b" % (tag.encode(), hashlib.sha256(content).digest())
    return _tagged(tag, content)


def _tagged(tag: str, content: bytes) -> bytes:
    return b"%b%d:%b" % (tag.encode(), len(content), content)


def _text(value: str) -> bytes:
    return _tagged("s", value.encode("utf-8", "surrogatepass"))


def _name(kind: type) -> bytes:
    return _text(f"{kind.__module__}.{kind.__qualname__}")


def _enum(value: enum.Enum) -> bytes:
    # a combination of flags has no name of its own
    member = repr(value.value) if isinstance(value, enum.Flag) else value.name
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
    offset, local = value.utcoffset(), value.replace(fold=0, tzinfo=None)
    if offset is None:
        return _tagged("N", local.isoformat().encode())
    # as the time since the first of all days: that instant in UTC may lie before or after the days that Python knows
    return _tagged("T", _microseconds(local - dt.datetime.min - offset))


def _time(value: dt.time) -> bytes:
    offset, local = value.utcoffset(), value.replace(fold=0, tzinfo=None)
    if offset is None:
        return _tagged("h", local.isoformat().encode())
    # as Python compares them: not taken around midnight
    return _tagged("H", _microseconds(dt.datetime.combine(dt.date.min, local) - dt.datetime.min - offset))


def _path(value: PurePath) -> bytes:
    # not by type: the module that pathlib names differs between versions of Python, and these are equal in any of them
    if isinstance(value, PureWindowsPath):
        return _tagged("P", _text("windows") + _text(str(value).lower()))
    return _tagged("P", _text("posix") + _text(str(value)))


def _microseconds(value: dt.timedelta) -> bytes:
    return b"%d" % (value // dt.timedelta(microseconds=1))


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
    (dt.time, _time),
    (dt.timedelta, _delta),
    (PurePath, _path),
)


def _short(key: Any) -> str:
    """A key inside an error text."""
    if isinstance(key, int):
        return repr(key) if abs(key) < 10**40 else "…"
    return repr(key[:40]) if isinstance(key, str) else "…"
