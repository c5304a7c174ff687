"""Keys: positions, names and defaults agree; nothing that could join unrelated jobs makes a key."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queueops.middleware import Call, ClaimError
from queueops.middleware.signature import Signature
from queueops.middleware.templates import Key


def sell(book_id: Any, shop: Any = "main", *, user: Any = 3, **more: Any) -> None: ...


def plain(book_id: Any, shop: Any = "main", *, user: Any = 3) -> None: ...


def mixed(book_id: Any, /, shop: Any = "main", *rest: Any, user: Any = 3) -> None: ...


def render(template: Any, function: Any, *args: Any, **kwargs: Any) -> str:
    signature = Signature(function)
    key = Key("Lock()", template)
    key.check("Lock()", "app.f", signature)
    return key.render("Lock()", Call("app.f", "default", args, kwargs, signature))


texts = st.text(min_size=1, max_size=30) | st.integers()


@given(book_id=texts, shop=texts, user=texts)
def test_positions_names_and_defaults_agree(book_id: Any, shop: Any, user: Any) -> None:
    template = "{book_id}/{shop}/{user}"
    expected = render(template, plain, book_id, shop, user=user)
    for function in (plain, sell, mixed):
        assert render(template, function, book_id, shop, user=user) == expected
    for function in (plain, sell):
        assert render(template, function, user=user, shop=shop, book_id=book_id) == expected
        assert render(template, function, book_id, user=user, shop=shop) == expected
    assert render(template, plain, book_id) == render(template, plain, book_id, "main", user=3)


@given(st.lists(st.tuples(texts, texts, texts), min_size=2, max_size=2))
def test_c10_different_parts_never_make_the_same_key(calls: list[tuple[Any, Any, Any]]) -> None:
    one, other = calls
    keys = [render("{book_id}:{shop}::{user}", plain, b, s, user=u) for b, s, u in (one, other)]
    assert (keys[0] == keys[1]) == (tuple(map(str, one)) == tuple(map(str, other)))


@given(st.data())
def test_c10_whatever_stands_between_the_placeholders(data: st.DataObject) -> None:
    marks = st.text(alphabet="\\^:ab", min_size=1, max_size=4)
    between = data.draw(st.text(alphabet="\\^:a", min_size=1, max_size=3))
    template = "{book_id}" + between + "{shop}"
    one, other = (tuple(data.draw(marks) for _ in range(2)) for _ in range(2))
    assert (render(template, plain, *one) == render(template, plain, *other)) == (one == other)


def test_c10_a_backslash_between_placeholders() -> None:
    template = "{book_id}\\{shop}"
    assert render(template, plain, "x\\", "y") != render(template, plain, "x", "\\\\\\\\y")
    assert render(template, plain, "x", "y") == "x\\y"


def test_c10_the_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert render("{book_id}:{shop}", plain, "a:b", "c") != render("{book_id}:{shop}", plain, "a", "b:c")
    assert render("{book_id}:{shop}", plain, "a", "b:c") == "a:b:c"


@given(st.data())
def test_binding_is_what_python_does(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from([plain, sell, mixed]))
    args = tuple(data.draw(st.lists(st.integers(), max_size=4)))
    names = st.sampled_from(["book_id", "shop", "user", "other"])
    kwargs = data.draw(st.dictionaries(names, st.integers(), max_size=4))
    try:
        expected = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError):
            Signature(function).bind(args, kwargs)
        return
    expected.apply_defaults()
    bound = Signature(function).bind(args, kwargs)
    assert expected.arguments.items() <= bound.items()


@dataclasses.dataclass
class User:
    id: int
    name: str | None = None


@dataclasses.dataclass
class Tagged:
    tags: set[str]


@dataclasses.dataclass
class Named(Tagged):
    def __repr__(self) -> str:
        return "named"


def shared(levels: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(levels):
        made = [made, made]
    return made


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        ("é x\n*{}", "é x\n*{}"),
        (True, "True"),
        (0, "0"),
        (10**40, str(10**40)),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (datetime.date(2025, 6, 1), "2025-06-01"),
        (Colour.RED, "Colour.RED"),
        (["a", "b"], "['a', 'b']"),
        ([0] * 5000, str([0] * 5000)),
        (User(4, "x"), "User(id=4, name='x')"),
        (Named({"a", "b"}), "named"),
        (float("nan"), "nan"),
    ],
)
def test_placeholders_render_with_str(value: Any, text: str) -> None:
    assert render("b:{book_id}", plain, value) == f"b:{text}"


def test_parts_of_an_argument() -> None:
    assert render("{book_id.id}", plain, User(4)) == "4"
    assert render("{book_id[0]}/{shop[a]}", plain, [9], {"a": 1}) == "9/1"
    assert render("{book_id[7]}", plain, {"7": "x"}) == "x"
    assert render("{shelf}", sell, 1, shelf="b") == "b"
    assert render("{{{book_id}}}", plain, 1) == "{1}"


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{book_id}", None, r"app\.f: Lock\(\): key='\{book_id\}': \{book_id\} is None"),
        ("{book_id}", "", "is empty; a key needs a value"),
        ("{book_id.name}", User(1), "is None"),
        ("{book_id.isbn}", User(1), "cannot be read: AttributeError"),
        ("{book_id[3]}", [], "cannot be read: IndexError"),
        ("{book_id}", object(), "no stable text"),
        ("{book_id}", (x for x in ()), "no stable text"),
        ("{book_id}", {"a", "b"}, "no stable text"),
        ("{book_id}", {"a": 1}, "no stable text"),
        ("{book_id}", [{"a", "b"}], "is a list, which has no stable text"),
        ("{book_id}", ([{"a": 1}],), "is a tuple, which has no stable text"),
        ("{book_id}", Tagged({"a", "b"}), "is a Tagged, which has no stable text"),
        pytest.param("{book_id}", shared(40), "is a list, which has more than 10,000 parts; name a part", id="shared"),
        pytest.param("{book_id}", 10**5000, "cannot be read: ValueError", id="huge"),
        (lambda book_id: None, 1, "the key callable returned None"),
        (lambda book_id: "", 1, "the key callable returned ''"),
        (lambda book_id: 5, 1, "the key callable returned 5"),
        (lambda book_id: book_id.id, 1, "the key callable failed: AttributeError"),
    ],
)
def test_what_makes_no_key_names_function_and_option(template: Any, value: Any, text: str) -> None:
    with pytest.raises(ClaimError, match=text) as caught:
        render(template, plain, value)
    assert "app.f" in str(caught.value) and "key" in str(caught.value)


def test_a_call_that_does_not_fit_is_named() -> None:
    with pytest.raises(ClaimError, match=r"app\.f: its controls need its arguments, but missing"):
        render("{book_id}", plain)
    with pytest.raises(ClaimError, match="shelf"):
        render("{book_id}", plain, 1, shelf=2)
    with pytest.raises(ClaimError, match=r"\{shelf\} cannot be read"):
        render("{shelf}", sell, 1)


def test_callables_name_their_arguments_or_take_all() -> None:
    assert render(lambda shop, book_id: f"{book_id}@{shop}", plain, 1) == "1@main"
    assert render(lambda arguments: f"{arguments['book_id']}", plain, 1) == "1"
    assert render(lambda book_id: f"b{book_id}", plain, 1) == "b1"
    assert render(lambda **arguments: ",".join(sorted(arguments)), plain, 1) == "book_id,shop,user"
    assert render(lambda book_id, shelf="none": shelf, plain, 1) == "none"
