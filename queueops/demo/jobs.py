"""What the workers of the shop do, and what each job may share: the declarations are the point of this file.

Plain functions: called directly they just do their work. Under queueops workers the controls above them hold.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections import Counter
from datetime import timedelta
from random import Random
from statistics import fmean

import django_rq
from rq import get_current_job

from queueops import Lock, Quarantine, RateLimited, WithoutOverlapping, WithSemaphore, controlled
from queueops.demo import partners, paths, store

MAIL_FILE_CAP = 2_000_000
"""Bytes; then the mail file becomes ``mail.old`` and a new one is begun."""
INVOICE_FILES = 200
FORGOTTEN_FOR = 15 * 60
"""Seconds that :func:`sync_stock` claims its lock for."""


# --- queue high, then courier, then mail: what an order goes through ------------------------------------------------


@controlled(WithoutOverlapping("order", key="{order_id}"))
def confirm_order(order_id: int) -> bool:
    """Take an order's copies from the stock; False when that was done before."""
    return store.confirm(order_id)


@controlled(
    WithoutOverlapping("order", key="{order_id}"),  # shared with confirm_order: one step of an order at a time
    WithSemaphore("courier-api", limit=2),
    RateLimited("courier", limit=4, per=1, strategy="bucket", burst=8),
    Quarantine(after=3),
)
def ship_order(order_id: int) -> str:
    """Buy a label for one parcel; returns it. A minute later the customer is asked for a review."""
    return _ship(order_id, parcels=1)


@controlled(
    WithSemaphore("courier-api", limit=2, weight=2),
    RateLimited("courier", limit=4, per=1, strategy="bucket", burst=8),
)
def ship_pallet(order_id: int) -> str:
    """Ship many copies at once: it needs both lines to the courier, so it waits until both are free."""
    return _ship(order_id, parcels=40)


@controlled(
    RateLimited("mail", limit=50, per=10),  # what the mail provider takes from the whole shop
    RateLimited("mail-user", key="{user_id}", limit=3, per=60),  # and what a reader should have to bear
)
def send_mail(user_id: int, template: str) -> int:
    """Append a mail to the shop's mail file; returns the size of that file in bytes."""
    path = paths.home() / "mail.txt"
    with path.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # a second process would otherwise write into the old file
        if path.exists() and path.stat().st_size > MAIL_FILE_CAP:
            path.replace(path.with_suffix(".old"))
        with path.open("a", encoding="utf-8") as out:
            out.write(f"To: user-{user_id}@shop.example\nSubject: {template}\n\nDear reader {user_id}, …\n\n")
            return out.tell()


# --- queue default: the shelf and the printer -----------------------------------------------------------------------


def check_stock(book_id: int) -> int:
    """Order more copies when few are left. No controls, and enqueued by code that knows only RQ."""
    return store.restock(book_id)


@controlled(Quarantine(after=3, crashes=2))
def print_invoice(invoice_id: int) -> str:
    """Print an invoice; returns its file name. A corrupt logo takes the whole process down, as a native library can."""
    order = store.order(invoice_id)
    if order.logo == "corrupt":
        os.kill(os.getpid(), signal.SIGKILL)  # no exception, no finally: the poison job of the shop
    partners.print_page(invoice_id)
    name = f"invoice-{invoice_id % INVOICE_FILES:03d}.txt"
    text = f"Invoice {invoice_id}\n{order.copies} × book {order.book_id}\n{order.street}\n"
    paths.write_whole(paths.invoices() / name, text)
    return name


# --- queue low ------------------------------------------------------------------------------------------------------


@controlled(WithoutOverlapping(key="{book_id}", otherwise="drop"))
def recommend(book_id: int) -> list[int]:
    """Work out "readers also bought". Another run for the same book would say the same, so that one is dropped."""
    found = store.also_bought(book_id)
    paths.write_whole(paths.reports() / f"also-{book_id}.json", json.dumps(found))
    return found


# --- queue reports --------------------------------------------------------------------------------------------------


@controlled(WithoutOverlapping(key="{book_id}"), WithSemaphore("report-disk", limit=2))
def crunch_sales(book_id: int) -> str:
    """Sum up a book's sales by month and region into a CSV file and a JSON summary; returns the file name."""
    return _report(f"book-{book_id}", store.sales(book_id), rounds=200)


@controlled(WithSemaphore("report-disk", limit=2, weight=2), WithoutOverlapping())
def crunch_catalogue() -> str:
    """The same over all books: heavy, so it takes the whole disk to itself."""
    return _report("catalogue", store.sales(), rounds=40)


# --- queue imports --------------------------------------------------------------------------------------------------


@controlled(WithoutOverlapping("import", key="{supplier}"))
def import_prices(supplier: str) -> int:
    """Fetch a supplier's price list and store it; returns how many prices changed. ``tortoise`` sends slowly."""
    return store.set_prices(partners.price_list(supplier))


def sync_stock(supplier: str) -> int:
    """The stuck job of the shop: takes the import lock by hand, for 15 minutes, and on one path forgets to release it.

    ``with lock.hold(...)`` or the declaration on :func:`import_prices` cannot forget. Here it is left as it was found.
    """
    job = get_current_job()
    token = job.id if job else f"sync-{os.getpid()}"
    lock = Lock("import", key=supplier)
    if lock.acquire(token, ttl=FORGOTTEN_FOR) is None:
        return 0  # an import is running; the next sync will do
    empty = store.empty_shelves(supplier)
    if not empty:
        return 0  # the bug: every later import of this supplier waits for a lock that nobody uses
    for book_id in empty:
        store.restock(book_id)
    lock.release(token)
    return len(empty)


# --- shared work ----------------------------------------------------------------------------------------------------


def _ship(order_id: int, parcels: int) -> str:
    order = store.order(order_id)
    label = partners.buy_label(order_id, order.street, parcels)
    store.move_order(order_id, "shipped")
    if get_current_job():  # called directly, as in a test, it only ships
        django_rq.get_queue("mail").enqueue_in(timedelta(seconds=60), send_mail, order.user_id, "Your review, please")
    return label


def _report(name: str, sales: list[store.Sale], rounds: int) -> str:
    """Write ``<name>.csv`` and ``<name>.json``; ``rounds`` of resampling give the range of the mean day."""
    months: Counter[tuple[int, str]] = Counter()
    for sale in sales:
        months[sale.day * 12 // 365, sale.region] += sale.cents
    lines = [f"{month + 1},{region},{cents / 100:.2f}" for (month, region), cents in sorted(months.items())]
    paths.write_whole(paths.reports() / f"{name}.csv", "\n".join(["month,region,revenue", *lines, ""]))
    days = [sale.cents for sale in sales] or [0]
    pick = Random(name)
    means = sorted(fmean(pick.choices(days, k=len(days))) for _ in range(rounds))
    summary = {
        "copies": sum(sale.copies for sale in sales),
        "revenue": sum(days) / 100,
        "mean_sale": [round(means[len(means) // 20] / 100, 2), round(means[-1 - len(means) // 20] / 100, 2)],
    }
    paths.write_whole(paths.reports() / f"{name}.json", json.dumps(summary, indent=1))
    return f"{name}.csv"
