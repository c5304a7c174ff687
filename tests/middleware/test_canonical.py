"""C09: the same call, the same key, in every process; another call, another key."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queueops.middleware.canonical import NoStableForm, canonical
from tests.support import ROOT


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Shelf(PurePosixPath):
    """A path of the project's own."""


class NoOffset(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> None:
        return None


class Broken(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def zone(hours: float) -> dt.timezone:
    return dt.timezone(dt.timedelta(hours=hours))


def shared(levels: int) -> list[Any]:
    """A list that holds one other twice, and so on."""
    made: list[Any] = []
    for _ in range(levels):
        made = [made, made]
    return made


@dataclasses.dataclass
class Book:
    title: str
    tags: dict[str, int]
    cache: Any = dataclasses.field(default=None, compare=False)


DIFFERENT = [
    1, "1", True, 1.0, None, "None", b"1", decimal.Decimal(1), 0, "", b"", False, [], (), set(), {}, 1.5, float("inf"),
    float("-inf"), float("nan"), 10**40, -(10**40), "é", "e\u0301", "\ud800", b"a", "a", ["a", "b"],
    ["a,b"], ("a", "b"), {"a": 1}, {"a": [1]}, {"a": {"b": 1}}, {1: "a"}, {"1": "a"}, [[1], [2]], [[1, 2]],
    [[], [1, 2]],
    dt.date(2026, 1, 2), dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "2026-01-02", dt.time(1, 2),
    dt.timedelta(1), dt.timedelta(0, 1), Colour.RED, Colour.BLUE, Level.LOW, Book("a", {}), Book("b", {}),
    Book("a", {"x": 1}), uuid.UUID(int=1), str(uuid.UUID(int=1)), decimal.Decimal("1.1"), decimal.Decimal("NaN"),
    decimal.Decimal("Infinity"), PurePosixPath("a"), PurePosixPath("A"), PureWindowsPath("a"), PureWindowsPath("b"),
    frozenset({1, 2}), frozenset({1, 3}), dt.time(1, 2, tzinfo=dt.UTC), dt.time(1, 2, tzinfo=zone(1)),
    dt.time(23, tzinfo=zone(-2)), dt.time(1, tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=zone(-1)),
    dt.datetime.max.replace(tzinfo=zone(0)), dt.datetime.min.replace(tzinfo=zone(1)), dt.datetime.max, Right.READ,
    Right.READ | Right.WRITE, Right(0), 10**5000, 10**5000 + 1, [0] * 2000, [0] * 2001, (0,) * 2000, shared(5),
    shared(6),
]  # fmt: skip

EQUAL = [
    ({"b": 1, "a": [{"z": 1, "y": 2}]}, {"a": [{"y": 2, "z": 1}], "b": 1}),
    ({3, 1, 2}, frozenset([2, 3, 1])),
    (decimal.Decimal("1.10"), decimal.Decimal("1.1")),
    (decimal.Decimal("1E+2"), decimal.Decimal(100)),
    (decimal.Decimal("-0.0"), decimal.Decimal(0)),
    (0.0, -0.0),
    (dt.datetime(2026, 1, 1, 9, tzinfo=dt.timezone(dt.timedelta(hours=9))), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
    (dt.datetime(2026, 1, 1, fold=1), dt.datetime(2026, 1, 1)),
    (dt.time(12, tzinfo=zone(0)), dt.time(13, tzinfo=zone(1))),
    (dt.time(0, 30, tzinfo=zone(5.5)), dt.time(2, tzinfo=zone(7))),
    (dt.time(0, tzinfo=zone(1)), dt.time(1, tzinfo=zone(2))),
    (dt.time(12, tzinfo=NoOffset()), dt.time(12)),
    (dt.time(12, fold=1), dt.time(12)),
    (dt.datetime.max.replace(tzinfo=zone(-1)), dt.datetime.max.replace(tzinfo=zone(-1), fold=1)),
    (dt.datetime(2026, 1, 1, tzinfo=NoOffset()), dt.datetime(2026, 1, 1)),
    (Path("a/b"), PurePosixPath("a/./b")),
    (Shelf("a"), PurePosixPath("a")),
    (PureWindowsPath("C:/A"), PureWindowsPath("c:\\a")),
    (Right.READ | Right.WRITE, Right.WRITE | Right.READ),
    ([[1] * 600, [1] * 600], [*([[1] * 600] * 2)]),
    (bytearray(b"ab"), b"ab"),
    (Book("a", {"y": 1, "x": 2}, cache=object()), Book("a", {"x": 2, "y": 1})),
]


def test_all_of_these_differ() -> None:
    for one, other in itertools.combinations(range(len(DIFFERENT)), 2):
        assert canonical(DIFFERENT[one]) != canonical(DIFFERENT[other]), (DIFFERENT[one], DIFFERENT[other])


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_values_are_equal(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


def test_equal_in_python_too() -> None:
    assert all(one == other for one, other in EQUAL)


def test_a_list_that_is_shared_on_many_levels_is_looked_at_once_on_each() -> None:
    looked: list[str] = []

    class Counted(list[Any]):
        def __iter__(self) -> Any:
            looked.append("once")
            return super().__iter__()

    made: list[Any] = []
    for _ in range(49):
        made = Counted([made, made])
    assert canonical(made) == canonical(shared(49)) != canonical(shared(48)) and len(looked) == 49
    assert len(canonical(made)) < 2000
    with pytest.raises(NoStableForm, match="levels deep"):
        canonical(shared(51))
    mixed: Any = 1
    for _ in range(15):
        mixed = ({"a": mixed, "b": frozenset({1}), "c": [mixed]}, Book("x", mixed))
    assert canonical(mixed) == canonical(pickle.loads(pickle.dumps(mixed)))


def test_parts_made_on_the_way_are_not_taken_for_one_another() -> None:
    class Fresh(Mapping[int, Any]):
        """Each of its values is gone as soon as it was looked at."""

        def __len__(self) -> int:
            return 50

        def __iter__(self) -> Any:
            return iter(range(50))

        def __getitem__(self, key: int) -> Any:
            return [key]

    assert canonical(Fresh()) == canonical({n: [n] for n in range(50)})


def knot() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (object(), "the value is a object"),
        ({"a": [1, object()]}, "['a'][1] is a object"),
        ((n for n in ()), "generator"),
        (len, "builtin_function_or_method"),
        (Colour, "EnumType"),
        (Book, "type"),
        (knot(), "levels deep"),
        (Broken(a=1), "cannot all be read (RuntimeError)"),
    ],
)
def test_what_has_no_stable_form_is_refused_by_name(value: Any, where: str) -> None:
    with pytest.raises(NoStableForm) as told:
        canonical(value)
    assert where in str(told.value) and " at 0x" not in str(told.value)


def test_five_megabytes() -> None:
    assert canonical("x" * 5_000_000) != canonical("x" * 4_999_999 + "y")


plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.uuids(),
    st.decimals(allow_nan=False), st.dates(), st.times(), st.timedeltas(), st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
)  # fmt: skip
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
        | st.frozensets(plain, max_size=4)
    ),
    max_leaves=12,
)


def typed(value: Any) -> Any:
    """A comparable form in which numbers of different types differ."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [typed(item) for item in value]
    if isinstance(value, dict):
        return "dict", {(type(k).__name__, k): typed(v) for k, v in value.items()}
    if isinstance(value, frozenset):
        return "set", {(type(v).__name__, v) for v in value}
    return type(value).__name__, value


@given(values, values)
def test_equal_exactly_when_the_values_are(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (typed(one) == typed(other))


@given(values)
def test_a_copy_has_the_same_form(value: Any) -> None:
    assert canonical(pickle.loads(pickle.dumps(value))) == canonical(value)


CHILD = """
import importlib.util, pickle, sys, json
spec = importlib.util.spec_from_file_location("canonical", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(json.dumps([module.canonical(v).hex() for v in pickle.loads(sys.stdin.buffer.read())]))
"""


def pythons() -> list[str]:
    """This Python, and others that are here."""
    found = [sys.executable]
    for version in ("3.11", "3.12", "3.13"):
        # pyenv's own first: what it puts on PATH need not run
        others = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), shutil.which(f"python{version}")]
        found += [str(path) for path in others if path and ".pyenv/shims" not in str(path)][:1]
    return found


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("seed", ["1", "77"])
def test_the_same_in_another_process_and_python(python: str, seed: str) -> None:
    portable = [v for v in DIFFERENT if not isinstance(v, (Colour, Level, Book, Right))]
    portable += [Path("a/b"), PureWindowsPath("C:/A"), {"where": [Path("x")]}]
    portable += [{"z": {"b", "a", "c"}, "y": {str(n): {n} for n in range(50)}}, set("abcdefghij")]
    answer = subprocess.run(
        [python, "-c", CHILD, str(ROOT / "queueops/middleware/canonical.py")],
        input=pickle.dumps(portable, protocol=4),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    assert json.loads(answer.stdout) == [canonical(value).hex() for value in portable]
