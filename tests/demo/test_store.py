"""The shop's database: the same data every time, changes that may be repeated, no growth."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from queueops.demo import store


def test_is_seeded_once_when_many_open_it_at_the_same_time() -> None:
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: len(store.sales()), range(16)))
    assert counts == [store.FIRST_SALES] * 16


def test_is_the_same_in_every_shop(settings: object, tmp_path: Path) -> None:
    first = store.sales(), store.books_of("cedar")
    settings.STATE_DIR = tmp_path / "other"  # type: ignore[attr-defined]
    assert (store.sales(), store.books_of("cedar")) == first


def test_confirming_twice_takes_the_copies_once() -> None:
    before = store.restock(5)
    order_id = store.place_order(1, 5, copies=3)
    assert [store.confirm(order_id), store.confirm(order_id)] == [True, False]
    assert store.restock(5) == before - 3
    assert store.order(order_id).state == "confirmed"


def test_a_low_shelf_is_filled_up() -> None:
    store.confirm(store.place_order(1, 5, copies=50))
    assert store.restock(5) == 60


def test_old_orders_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEEP_ORDERS", 10)
    ids = [store.place_order(1, 1) for _ in range(12)]
    with pytest.raises(LookupError, match=str(ids[0])):
        store.order(ids[0])
    assert store.order(ids[-10]).id == ids[-10]


def test_prices_are_stored_all_or_none() -> None:
    assert store.set_prices([(1, 111), (2, 222)]) == 2
    with pytest.raises(sqlite3.IntegrityError):
        store.set_prices([(1, 333), (2, -1)])
    assert store.set_prices([(1, 111), (2, 222)]) == 0


def test_bestsellers_lead_the_recommendations() -> None:
    found = store.also_bought(1)
    assert 0 < len(found) <= 5 and 1 not in found
