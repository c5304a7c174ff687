"""The shop's jobs as plain functions: they do their work without any worker."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from queueops import Lock
from queueops.demo import courier, jobs, partners, store
from queueops.demo.courier import Courier
from queueops.middleware import registry
from queueops.rdb import keys


def test_a_report_adds_up(shop: Path) -> None:
    assert jobs.crunch_sales(1) == "book-1.csv"
    lines = (shop / "reports/book-1.csv").read_text().splitlines()
    summary = json.loads((shop / "reports/book-1.json").read_text())
    revenue = sum(sale.cents for sale in store.sales(1)) / 100
    assert lines[0] == "month,region,revenue"
    assert sum(float(line.split(",")[2]) for line in lines[1:]) == pytest.approx(revenue)
    assert summary["revenue"] == pytest.approx(revenue)
    low, high = summary["mean_sale"]
    assert 0 < low < high


def test_reports_are_overwritten_and_leave_no_drafts(shop: Path) -> None:
    for _ in range(2):
        jobs.crunch_sales(1)
        jobs.crunch_catalogue()
    assert sorted(path.name for path in (shop / "reports").iterdir()) == [
        *("book-1.csv", "book-1.json", "catalogue.csv", "catalogue.json")
    ]


def test_a_book_without_sales_has_a_report_too(shop: Path) -> None:
    jobs.crunch_sales(999)
    assert json.loads((shop / "reports/book-999.json").read_text())["copies"] == 0


def test_an_order_is_shipped(partner: Courier) -> None:
    order_id = store.place_order(1, 2)
    assert jobs.ship_order(order_id) == f"L-{order_id}"
    assert store.order(order_id).state == "shipped"


def test_a_bad_address_is_told(partner: Courier) -> None:
    with pytest.raises(partners.AddressRejected):
        jobs.ship_order(store.place_order(1, 2, street=""))


def test_mails_from_many_at_once_are_whole_and_the_file_is_bounded(shop: Path, monkeypatch: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda user: jobs.send_mail(user, "Hello"), range(40)))
    mails = (shop / "mail.txt").read_text()
    assert mails.count("Subject: Hello\n\nDear reader") == 40
    monkeypatch.setattr(jobs, "MAIL_FILE_CAP", 100)
    assert jobs.send_mail(1, "After the turn") < len(mails)
    assert (shop / "mail.old").read_text() == mails


def test_invoices_are_printed_into_a_fixed_number_of_files(partner: Courier, shop: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(jobs, "INVOICE_FILES", 2)
    names = {jobs.print_invoice(store.place_order(1, 2)) for _ in range(5)}
    assert {path.name for path in (shop / "invoices").iterdir()} == names and len(names) == 2


def test_an_invoice_waits_for_paper(partner: Courier, monkeypatch: Any) -> None:
    monkeypatch.setattr(courier, "PRINTER_OFF", 60)
    with pytest.raises(partners.PrinterOffline):
        jobs.print_invoice(store.place_order(1, 2))


def test_the_poison_invoice_kills_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(Exception):
        pass

    def kill(pid: int, number: int) -> None:
        raise Killed(pid, number)

    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(Killed) as killed:
        jobs.print_invoice(store.place_order(1, 2, logo="corrupt"))
    assert killed.value.args == (os.getpid(), signal.SIGKILL)


def test_prices_are_imported(partner: Courier) -> None:
    assert 0 < jobs.import_prices("aurora") <= len(store.books_of("aurora"))


def test_recommendations_and_stock(shop: Path) -> None:
    found = jobs.recommend(1)
    assert json.loads((shop / "reports/also-1.json").read_text()) == found
    assert jobs.check_stock(1) == 60


def test_the_stock_sync_leaves_its_lock_behind(redis: redis_py.Redis) -> None:
    jobs.sync_stock("cedar")
    assert Lock("import", key="cedar").acquire("someone-else", ttl=10) is None
    assert Lock("import", key="birch").acquire("someone-else", ttl=10)
    redis.flushall()
    book_id = store.books_of("cedar")[0]
    store.confirm(store.place_order(1, book_id, copies=60))
    assert jobs.sync_stock("cedar") == 1  # the other path releases it
    assert Lock("import", key="cedar").acquire("someone-else", ttl=10)
    assert jobs.sync_stock("cedar") == 0  # and while an import runs, it does nothing


@pytest.mark.parametrize(
    ("function", "args", "wanted"),
    [
        (jobs.crunch_sales, (7,), ["lock queueops.demo.jobs.crunch_sales 7", "semaphore report-disk "]),
        (jobs.crunch_catalogue, (), ["lock queueops.demo.jobs.crunch_catalogue ", "semaphore report-disk "]),
        (jobs.ship_order, (7,), ["lock order 7", "rate courier ", "semaphore courier-api "]),
        (jobs.ship_pallet, (7,), ["rate courier ", "semaphore courier-api "]),
        (jobs.send_mail, (7, "hello"), ["rate mail ", "rate mail-user 7"]),
        (jobs.import_prices, ("cedar",), ["lock import cedar"]),
        (jobs.print_invoice, (7,), []),
        (jobs.check_stock, (7,), []),
    ],
)
def test_what_the_jobs_declare(function: Callable[..., Any], args: tuple[Any, ...], wanted: list[str]) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    controls = registry.job_controls(name, function, args, {}, "default")
    assert sorted(" ".join(keys.split_instance(claim.instance)) for claim in controls.claims) == wanted
