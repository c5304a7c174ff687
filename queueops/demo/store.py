"""The shop's database: one SQLite file, opened per use, seeded with the same data every time.

Plain ``sqlite3`` on purpose: the shop stands for *your* application and shares no table with queueops.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from queueops.demo import paths

AUTHORS, BOOKS, USERS, FIRST_ORDERS, FIRST_SALES = 60, 300, 400, 500, 6_000
KEEP_ORDERS = 5_000
"""Older orders are dropped: a shop left running for a week does not grow."""
SUPPLIERS = ("aurora", "birch", "cedar", "tortoise")
STREET = "1 Harbour Road"
REGIONS = ("north", "south", "east", "west")

SCHEMA = """
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE books (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors, title TEXT NOT NULL,
                    supplier TEXT NOT NULL, cents INTEGER NOT NULL CHECK (cents > 0), stock INTEGER NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, book_id INTEGER NOT NULL REFERENCES books,
                     copies INTEGER NOT NULL, street TEXT NOT NULL, logo TEXT NOT NULL DEFAULT 'plain',
                     state TEXT NOT NULL DEFAULT 'placed');
CREATE TABLE sales (id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL REFERENCES books, day INTEGER NOT NULL,
                    region TEXT NOT NULL, copies INTEGER NOT NULL, cents INTEGER NOT NULL);
CREATE INDEX sales_of_book ON sales (book_id, day);
CREATE INDEX orders_of_book ON orders (book_id);
PRAGMA user_version = 1;
"""


class Order(NamedTuple):
    """One order; ``logo`` is the picture on its invoice: ``plain``, or ``corrupt`` (it kills the printing process)."""

    id: int
    user_id: int
    book_id: int
    copies: int
    street: str
    logo: str
    state: str


class Sale(NamedTuple):
    """One line of the sales ledger: ``day`` counts from the opening of the shop, ``cents`` is the whole line."""

    day: int
    region: str
    copies: int
    cents: int


def database() -> Path:
    return paths.home() / "shop.sqlite3"


@contextmanager
def transaction() -> Iterator[sqlite3.Connection]:
    """A connection with an open write transaction: commits at the end, rolls back when the block raises."""
    connection = sqlite3.connect(database(), timeout=5, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            _seed(connection)
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()  # without the COMMIT this rolls back


def place_order(user_id: int, book_id: int, street: str = STREET, copies: int = 1, logo: str = "plain") -> int:
    """Insert an order; returns its id."""
    with transaction() as db:
        placed = db.execute(
            "INSERT INTO orders (user_id, book_id, copies, street, logo) VALUES (?, ?, ?, ?, ?)",
            (user_id, book_id, copies, street, logo),
        )
        order_id = int(placed.lastrowid or 0)
        db.execute("DELETE FROM orders WHERE id <= ?", (order_id - KEEP_ORDERS,))
    return order_id


def order(order_id: int) -> Order:
    """The order, or ``LookupError``."""
    with transaction() as db:
        row = db.execute(
            "SELECT id, user_id, book_id, copies, street, logo, state FROM orders WHERE id = ?", (order_id,)
        ).fetchone()
    if row is None:
        raise LookupError(f"order {order_id} does not exist (any more)")
    return Order(*row)


def move_order(order_id: int, state: str) -> None:
    """Set the state of an order: safe to repeat."""
    with transaction() as db:
        db.execute("UPDATE orders SET state = ? WHERE id = ?", (state, order_id))


def confirm(order_id: int) -> bool:
    """Take the copies from the stock, once; False when that was already done or the order is gone."""
    with transaction() as db:
        changed = db.execute("UPDATE orders SET state = 'confirmed' WHERE id = ? AND state = 'placed'", (order_id,))
        if not changed.rowcount:
            return False
        db.execute(
            "UPDATE books SET stock = stock - (SELECT copies FROM orders WHERE orders.id = ?)"
            " WHERE id = (SELECT book_id FROM orders WHERE orders.id = ?)",
            (order_id, order_id),
        )
    return True


def restock(book_id: int, least: int = 20, fill: int = 60) -> int:
    """Fill the shelf up when fewer than ``least`` copies are left; returns the copies now in stock."""
    with transaction() as db:
        db.execute("UPDATE books SET stock = ? WHERE id = ? AND stock < ?", (fill, book_id, least))
        row = db.execute("SELECT stock FROM books WHERE id = ?", (book_id,)).fetchone()
    if row is None:
        raise LookupError(f"book {book_id} does not exist")
    return int(row[0])


def empty_shelves(supplier: str) -> list[int]:
    """The supplier's books of which no copy is left."""
    with transaction() as db:
        return [row[0] for row in db.execute("SELECT id FROM books WHERE supplier = ? AND stock <= 0", (supplier,))]


def sales(book_id: int | None = None) -> list[Sale]:
    """The sales of one book, or of all, oldest first."""
    with transaction() as db:
        rows = db.execute(
            "SELECT day, region, copies, cents FROM sales WHERE ?1 IS NULL OR book_id = ?1 ORDER BY day", (book_id,)
        )
        return [Sale(*row) for row in rows]


def also_bought(book_id: int, limit: int = 5) -> list[int]:
    """The other books that buyers of this one ordered most."""
    with transaction() as db:
        rows = db.execute(
            "SELECT other.book_id FROM orders AS mine JOIN orders AS other USING (user_id)"
            " WHERE mine.book_id = ? AND other.book_id != mine.book_id"
            " GROUP BY other.book_id ORDER BY count(*) DESC, other.book_id LIMIT ?",
            (book_id, limit),
        ).fetchall()
    return [row[0] for row in rows]


def books_of(supplier: str) -> list[int]:
    """The ids of the books that a supplier delivers."""
    with transaction() as db:
        return [row[0] for row in db.execute("SELECT id FROM books WHERE supplier = ? ORDER BY id", (supplier,))]


def set_prices(prices: Iterable[tuple[int, int]]) -> int:
    """Store ``(book id, cents)`` pairs, all or none; returns how many books changed."""
    with transaction() as db:
        before = db.total_changes
        db.executemany("UPDATE books SET cents = ?2 WHERE id = ?1 AND cents != ?2", list(prices))
        return db.total_changes - before


def _seed(db: sqlite3.Connection) -> None:
    """Tables and first rows, within the caller's transaction: two processes that start together seed once."""
    for statement in filter(str.strip, SCHEMA.split(";")):
        db.execute(statement)
    pick = Random(7)
    db.executemany("INSERT INTO authors VALUES (?, ?)", ((i, f"Author {i:02d}") for i in range(1, AUTHORS + 1)))
    db.executemany(
        "INSERT INTO books VALUES (?, ?, ?, ?, ?, ?)",
        (
            (i, pick.randint(1, AUTHORS), f"Book {i:03d}", pick.choice(SUPPLIERS), pick.randrange(800, 4_000, 50), 60)
            for i in range(1, BOOKS + 1)
        ),
    )
    db.executemany(
        "INSERT INTO orders (user_id, book_id, copies, street, state) VALUES (?, ?, 1, ?, 'shipped')",
        ((pick.randint(1, USERS), popular_book(pick), STREET) for _ in range(FIRST_ORDERS)),
    )
    db.executemany(
        "INSERT INTO sales (book_id, day, region, copies, cents) VALUES (?1, ?2, ?3, ?4, ?4 * 1990)",
        (
            (popular_book(pick), pick.randrange(365), pick.choice(REGIONS), pick.randint(1, 5))
            for _ in range(FIRST_SALES)
        ),
    )


def popular_book(pick: Random) -> int:
    """A book id; low ids are drawn far more often, as bestsellers are."""
    return 1 + int(BOOKS * pick.random() ** 3)
