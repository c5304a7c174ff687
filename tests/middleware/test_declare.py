"""A wrong declaration fails at import, and says what to write instead."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from queueops import Quarantine, RateLimited, WithoutOverlapping, WithSemaphore, controlled
from queueops.middleware import DeclarationError
from tests.middleware import shop


def test_the_function_stays_as_it_is() -> None:
    assert shop.crunch_sales(1) == "1/7/False"
    assert shop.crunch_sales.__name__ == "crunch_sales"


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: WithSemaphore("s", limit=0), "limit must be between 1"),
    (lambda: WithSemaphore("s", limit=-1), "limit must be between 1"),
    (lambda: WithSemaphore("s", limit=True), "limit must be a whole number"),
    (lambda: WithSemaphore("s", limit=1.5), "limit must be a whole number"),  # type: ignore[arg-type]
    (lambda: WithSemaphore("s", limit=2, weight=3), "weight must be between 1 and 2"),
    (lambda: WithSemaphore("s", limit=2, weight=0), "weight must be between 1 and 2"),
    (lambda: WithSemaphore("", limit=2), "name must be printable"),
    (lambda: WithSemaphore("a\x1fb", limit=2), "name must be printable"),
    (lambda: WithSemaphore("a\nb", limit=2), "name must be printable"),
    (lambda: WithSemaphore("n" * 201, limit=2), "longer than 200 bytes"),
    (lambda: WithSemaphore("本" * 67, limit=2), "longer than 200 bytes"),
    (lambda: WithSemaphore(None, limit=2), "name must be text"),  # type: ignore[arg-type]
    (lambda: WithSemaphore("s", limit=2, key=5), "key must be text"),  # type: ignore[arg-type]
    (lambda: WithoutOverlapping(lease=0.5), "lease must be at least 1"),
    (lambda: WithoutOverlapping(lease=float("nan")), "lease must be a number of seconds"),
    (lambda: WithoutOverlapping(lease=True), "lease must be a number of seconds"),
    (lambda: WithoutOverlapping(otherwise="skip"), 'otherwise must be "wait" or "drop"'),
    (lambda: WithoutOverlapping(release_after=0), "release_after must be more than 0"),
    (lambda: WithoutOverlapping(max_wait=-1), "max_wait must be more than 0"),
    (lambda: WithoutOverlapping(otherwise="drop", max_wait=5), "never waits"),
    (lambda: RateLimited("r", limit=0, per=60), "limit must be between 1"),
    (lambda: RateLimited("r", limit=1, per=0), "per must be more than 0"),
    (lambda: RateLimited("r", limit=1, per=-1), "per must be more than 0"),
    (lambda: RateLimited("r", limit=1, per=367 * 86400), "per must be more than 0 and at most"),
    (lambda: RateLimited("r", limit=1, per=float("inf")), "per must be a number"),
    (lambda: RateLimited("r", limit=1, per=1, strategy="leaky"), "strategy must be one of"),
    (lambda: RateLimited("r", limit=1, per=1, burst=5), 'burst belongs to strategy="bucket"'),
    (lambda: RateLimited("r", limit=20_000, per=1), 'strategy="window"'),
    (lambda: RateLimited("r", limit=9, per=1, strategy="bucket", burst=2, weight=3), "weight must be between 1 and 2"),
    (lambda: Quarantine(after=0), "after must be between 1"),
    (lambda: Quarantine(crashes=0), "crashes must be between 1"),
    (lambda: controlled(Quarantine), "an instance, not the class"),  # type: ignore[arg-type]
    (lambda: controlled(Quarantine(), Quarantine()), "one Quarantine"),
    (lambda: controlled(shop.undeclared), r"write @controlled\(\.\.\.\)"),  # type: ignore[arg-type]
    (lambda: controlled(Quarantine())(classmethod(shop.undeclared)), "below @classmethod"),
    (lambda: controlled(Quarantine())(shop.Report), "belongs on a function"),
    (lambda: controlled(*[WithSemaphore(f"s{i}", limit=1) for i in range(17)]), "too many"),
]


@pytest.mark.parametrize(("declare", "text"), WRONG)
def test_c14_nonsense_is_refused_at_import(declare: Callable[[], Any], text: str) -> None:
    with pytest.raises(DeclarationError, match=text):
        declare()


@pytest.mark.parametrize(
    "make",
    [
        lambda: RateLimited("r", limit=1, per=0.5),
        lambda: RateLimited("r", limit=1, per=40 * 86400),
        lambda: RateLimited("r", limit=1, per=datetime.timedelta(minutes=1)),
        lambda: RateLimited("r", limit=20_000, per=1, strategy="bucket"),
        lambda: WithSemaphore("キュー/a b", limit=1),
        lambda: WithoutOverlapping("shared", lease=1, release_after=0.1, max_wait=1),
    ],
)
def test_unusual_but_right(make: Callable[[], Any]) -> None:
    make()


WRONG_KEYS: list[tuple[Any, str]] = [
    ("{book}", r"\{book\}, which is not an argument.*it takes book_id"),
    ("{}", "must name an argument"),
    ("{0}", "must name an argument"),
    ("{book_id!r}", "renders with str"),
    ("{book_id:>9}", "renders with str"),
    ("{book_id.__class__}", "must name an argument"),
    ("{book_id", "for a brace"),
    ("{book_id}{book_id}", "put a separator"),
    (lambda user: "x" if user else "y", None),
    (lambda user, book_id: "x", "wants user"),
    (lambda *args: "x", "must name the arguments"),
]


@pytest.mark.parametrize(("key", "text"), WRONG_KEYS)
def test_a_key_is_checked_against_the_function(key: Any, text: str | None) -> None:
    def declare() -> None:
        @controlled(WithoutOverlapping("shared", key=key))
        def job(book_id: int) -> None: ...

    if text is None:
        declare()
    else:
        with pytest.raises(DeclarationError, match=text):
            declare()


def test_a_name_with_two_definitions_names_both_places() -> None:
    @controlled(WithSemaphore("twice", limit=4))
    def first() -> None: ...

    with pytest.raises(DeclarationError, match=r"'twice' has two definitions: limit=5 at .*second.*limit=4 at .*first"):

        @controlled(WithSemaphore("twice", limit=5))
        def second() -> None: ...

    @controlled(RateLimited("twice", limit=5, per=1))
    def another_kind() -> None: ...


def test_declaring_a_function_again_replaces_its_definition() -> None:
    for limit in (4, 5):

        @controlled(WithSemaphore("reloaded", limit=limit))
        def job() -> None: ...


def test_two_decorators_add_up() -> None:
    @controlled(WithSemaphore("outer", limit=1))
    @controlled(WithSemaphore("inner", limit=1))
    def job() -> None: ...

    from queueops.middleware import job_controls

    controls = job_controls("x.job", job, (), {}, "default")
    assert controls and {claim.name for claim in controls.claims} == {"outer", "inner"}
