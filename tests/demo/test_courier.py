"""The courier, the printer and the suppliers: each failure has its name, none is silent."""

from __future__ import annotations

import pytest

from queueops.demo import courier, partners, store
from queueops.demo.courier import Courier, phase_at


def test_moods_follow_the_clock_in_a_circle() -> None:
    circle = sum(length for length, _ in courier.PHASES)
    moods = [phase_at(second) for second in range(circle)]
    assert moods[:60] == ["normal"] * 20 + ["slow"] * 30 + ["normal"] * 10
    assert {"normal", "slow", "failing"} == set(moods)
    assert [phase_at(second + circle) for second in range(circle)] == moods


def test_labels(partner: Courier) -> None:
    assert partners.buy_label(7, "1 Harbour Road") == "L-7"
    with pytest.raises(partners.AddressRejected, match="street is empty"):
        partners.buy_label(7, "")


def test_a_failing_courier_refuses_some(partner: Courier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier, "PHASES", ((60, "failing"),))
    busy = 0
    for number in range(30):
        try:
            partners.buy_label(number, "1 Harbour Road")
        except partners.CourierBusy:
            busy += 1
    assert 5 < busy < 30


def test_the_printer_without_paper(partner: Courier, monkeypatch: pytest.MonkeyPatch) -> None:
    partners.print_page(1)
    monkeypatch.setattr(courier, "PRINTER_OFF", 60)
    with pytest.raises(partners.PrinterOffline, match="out of paper"):
        partners.print_page(1)


def test_price_lists_are_complete_or_refused(partner: Courier, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [book for book, _ in partners.price_list("birch")] == store.books_of("birch")
    monkeypatch.setattr(courier, "PHASES", ((60, "failing"),))
    with pytest.raises(partners.FeedTruncated, match="birch sent"):
        partners.price_list("birch")


def test_a_closed_courier_is_named() -> None:
    with pytest.raises(partners.PartnerDown, match="has not opened"):
        partners.print_page(1)


def test_a_courier_that_went_away_is_named(partner: Courier) -> None:
    gone = Courier()
    gone.server_close()
    courier.paths.write_whole(courier.address_file(), gone.address)
    with pytest.raises(partners.PartnerDown):
        partners.buy_label(1, "1 Harbour Road")
