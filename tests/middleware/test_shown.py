"""The arguments of a call as text: short, whatever they are."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
from pathlib import PurePosixPath
from typing import Any

import pytest

from queueops import Unique, controlled
from queueops.middleware import ClaimError, job_controls
from queueops.middleware.shown import shown


class Colour(enum.Enum):
    RED = 1


class Right(enum.Flag):
    READ = 1


@dataclasses.dataclass
class Book:
    title: str
    pages: Any = None


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Broken(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def shared(levels: int) -> list[Any]:
    made: list[Any] = [1]
    for _ in range(levels):
        made = [made, made]
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"), ("a", "'a'"), (None, "None"), (1.5, "1.5"), (b"x", "b'x'"), ([1, "a"], "[1, 'a']"), ((1,), "(1,)"),
        ((1, 2), "(1, 2)"), ({"a": [1]}, "{'a': [1]}"), ({1}, "{1}"), (Colour.RED, "Colour.RED"),
        (Right(0), "Right(0)"),
        (Book("x", [1]), "Book(title='x', pages=[1])"), (dt.date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
        (PurePosixPath("a"), "PurePosixPath('a')"), (Silent(), "<Silent>"), ([Silent(), 1], "[<Silent>, 1]"),
        (Broken(), "…"), (10**40, f"0x{10**40:x}"), (-(10**40), f"-0x{10**40:x}"), ([[[[[[[1]]]]]]], "[[[[[[…]]]]]]"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_about_what_python_writes(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    "value",
    [10**5000, -(10**500_000), "x" * 5_000_000, b"x" * 5_000_000, shared(60), list(range(1_000_000)), {"k" * 999: 1},
     {n: n for n in range(100_000)}, Book("x" * 999, shared(60)), [[[]] * 99] * 99],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_never_longer_than_there_is_room(value: Any) -> None:
    text = shown(value)
    assert len(text) == 200 and text.endswith("…")


@controlled(Unique("until_executed"))
def all_count(value: Any) -> None: ...


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        shared(40),
        dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-1))),
        "\ud800",
        "x" * 5_000_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_of_any_size_make_a_key(value: Any) -> None:
    found = job_controls(f"{__name__}.all_count", all_count, (value,), {}, "default")
    assert found and found == job_controls(f"{__name__}.all_count", all_count, (value,), {}, "default")
    assert len(json.loads(found.uniques)[0]["t"]) <= 200


def test_what_cannot_be_read_is_told_of_function_and_option() -> None:
    with pytest.raises(ClaimError, match=r"all_count: Unique\('until_executed'\): argument values cannot all be read"):
        job_controls(f"{__name__}.all_count", all_count, (Broken(a=1),), {}, "default")
