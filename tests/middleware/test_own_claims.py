"""A middleware of the project's own that answers wrongly is told by name."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from queueops import Middleware, RateLimited, WithSemaphore, controlled
from queueops.middleware import ClaimError, DeclarationError, job_controls
from queueops.middleware.registry import check_settings

CLAIM = WithSemaphore("s3-upload", limit=4)


class PerShop(Middleware):
    def __init__(self, answer: Any = (), listed: Any = ()) -> None:
        self.answer, self.listed = answer, listed

    def claims(self, call: Any) -> Any:
        return self.answer(call) if callable(self.answer) else self.answer

    def controls(self, function: str) -> Any:
        return self.listed


def made(answer: Any) -> Any:
    @controlled(PerShop(answer))
    def sell(book_id: int) -> None: ...

    return job_controls("shop.sell", sell, (1,), {}, "default")


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "returned None"),
        ("abc", "returned 'abc'"),
        ([1], r"returned \[1\]"),
        ([None], r"returned \[None\]"),
        ({"a": 1}, "returned {'a': 1}"),
        (7, "returned 7"),
        ([CLAIM], "returned"),
        (lambda call: CLAIM.claims(call)[0], "returned Claim"),
        (lambda call: (claim for claim in CLAIM.claims(call)), "returned <generator"),
        ([Silent()], r"returned \[<Silent>\]"),
        (Silent(), "returned <Silent>"),
    ],
)
def test_what_is_no_list_of_claims(answer: Any, told: str) -> None:
    with pytest.raises(ClaimError, match=told) as caught:
        made(answer)
    assert "sell: PerShop.claims() returned" in str(caught.value) and "return a list of claims" in str(caught.value)


def test_lists_and_tuples_of_claims() -> None:
    assert made([]).claims == made(()).claims == ()
    rate = RateLimited("mail", limit=5, per=60)
    found = made(lambda call: (*CLAIM.claims(call), *rate.claims(call)))
    assert [claim.control for claim in found.claims] == ["S:s3-upload", "R:mail"]


@pytest.mark.parametrize("listed", [None, "abc", [1], 7])
def test_what_is_no_list_of_controls(listed: Any) -> None:
    with pytest.raises(DeclarationError, match=r"sell: PerShop\.controls\(\) returned .* return a list of controls"):

        @controlled(PerShop(listed=listed))
        def sell() -> None: ...


def test_the_settings_name_their_entry(settings: Any) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CONTROLS": {"shop.tasks.sell": [PerShop(listed=None)]}}
    with pytest.raises(ImproperlyConfigured, match=r"'shop\.tasks\.sell'.*PerShop\.controls\(\) returned None"):
        check_settings()


def test_enqueue_tells_the_caller_and_leaves_nothing(queue: Any) -> None:
    @controlled(PerShop(None))
    def sell() -> None: ...

    with pytest.raises(ClaimError, match=r"PerShop\.claims\(\) returned None"):
        queue.enqueue(sell)
    assert not queue.job_ids
