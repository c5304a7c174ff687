"""Several Uniques on one job: each has a lock of its own, or the declaration is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from queueops import Unique, controlled
from queueops.middleware import ClaimError, DeclarationError, job_controls
from queueops.middleware.registry import check_settings

ONE, TWO = {"key": "{book}"}, {"key": "recent:{book}"}


def by_book(book: int) -> str:
    return str(book)


def declared(*uniques: Unique) -> Any:
    @controlled(*uniques)
    def count(book: int, shop: int = 1) -> None: ...

    return count


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Unique("until_executed", **ONE), Unique("until_expired", **ONE, ttl=600)),
        (Unique("until_executed", **ONE), Unique("until_executed", **ONE, on_conflict="raise")),
        (Unique("until_executed"), Unique("until_executing")),
        (Unique("while_executing", **ONE), Unique("until_and_while_executing", **ONE)),
        (Unique("while_executing", **ONE), Unique("while_executing", **ONE, runtime_on_conflict="drop")),
        (Unique("until_executed", key=by_book), Unique("until_executing", key=by_book)),
        (Unique("until_executed", **ONE, across_queues=True), Unique("until_executing", **ONE, across_queues=True)),
    ],
)
def test_two_of_one_lock_are_refused_at_import(one: Unique, other: Unique) -> None:
    with pytest.raises(DeclarationError, match=r"are one lock: .* give one another key, like key="):
        declared(one, other)
    with pytest.raises(DeclarationError, match="are one lock"):
        controlled(one)(declared(other))


@pytest.mark.parametrize(
    ("one", "other", "locks"),
    [
        (Unique("until_executed", **ONE), Unique("until_expired", **TWO, ttl=600), 2),
        (Unique("until_executed", **ONE), Unique("until_executing"), 2),
        (Unique("until_executed", **ONE), Unique("while_executing", **ONE), 2),
        (Unique("until_executed", **ONE), Unique("until_executed", **ONE, across_queues=True), 2),
        (Unique("until_executed", **ONE), Unique("until_executed", **ONE, across_functions=True), 2),
        (Unique("while_executing", **ONE), Unique("until_and_while_executing", **TWO), 3),
    ],
)
def test_different_ones_each_have_a_lock(one: Unique, other: Unique, locks: int) -> None:
    count = declared(one, other)
    found = job_controls("shop.count", count, (1,), {}, "default")
    assert found
    instances = {claim.instance for claim in found.claims} | {spec["i"] for spec in json.loads(found.uniques)}
    assert len(instances) == locks


def test_those_that_only_a_call_makes_one_are_refused_at_enqueue(queue: Any) -> None:
    count = declared(Unique("until_executed", key="{book}"), Unique("until_executing", key="{shop}"))
    with pytest.raises(ClaimError, match=r"Unique\('until_executed'\) and Unique\('until_executing'\) are one lock"):
        queue.enqueue(count, 1)
    assert not queue.job_ids
    assert job_controls("shop.count", count, (1, 2), {}, "default")
    running = declared(Unique("while_executing", key="{book}"), Unique("until_and_while_executing", key="{shop}"))
    with pytest.raises(ClaimError, match="are one lock"):
        queue.enqueue(running, 1)


def test_the_settings_may_not_add_one_of_the_same_lock(queue: Any, settings: Any) -> None:
    count = declared(Unique("until_executed", **ONE))
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CONTROLS": {"queue:default": [Unique("until_expired", **ONE, ttl=60)]}}
    with pytest.raises(ClaimError, match="are one lock"):
        queue.enqueue(count, 1)
    entry = [Unique("until_executed", **ONE), Unique("until_expired", **ONE, ttl=60)]
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CONTROLS": {"shop.tasks.count": entry}}
    with pytest.raises(ImproperlyConfigured, match=r"'shop\.tasks\.count'.* are one lock"):
        check_settings()
