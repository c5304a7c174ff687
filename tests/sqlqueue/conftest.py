"""Each test runs on SQLite, PostgreSQL and MariaDB or MySQL, on real tables and without a transaction around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connections

from queueops.sqlqueue import SQLQueue
from queueops.sqlqueue.dialects.base import TABLE
from tests.sqlqueue.servers import database

VENDORS = ("sqlite", "postgresql", "mysql")


@pytest.fixture(scope="session")
def _opened(django_db_blocker: Any) -> Iterator[Callable[[str], str]]:
    """Gives the alias of a vendor's database, made when it is first asked for."""
    made: dict[str, str] = {}
    with django_db_blocker.unblock(), ExitStack() as stack:

        def alias(vendor: str) -> str:
            if vendor not in made:
                made[vendor] = stack.enter_context(database(vendor))
            return made[vendor]

        yield alias


@pytest.fixture(params=VENDORS)
def using(request: pytest.FixtureRequest, _opened: Callable[[str], str], django_db_blocker: Any) -> Iterator[str]:
    """The alias of one database, with no message in it."""
    with django_db_blocker.unblock():
        alias = _opened(request.param)
        empty(alias)
        yield alias
        empty(alias)
        connections[alias].close()


def empty(alias: str) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute(f"DELETE FROM {TABLE}")


@pytest.fixture
def queue(using: str) -> SQLQueue:
    return SQLQueue("thumbnails", using)


@pytest.fixture
def sql(using: str) -> Callable[..., list[tuple[Any, ...]]]:
    """Runs one statement on the table, as somebody else would."""

    def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with connections[using].cursor() as cursor:
            cursor.execute(statement.format(table=TABLE), values)
            return list(cursor.fetchall()) if cursor.description else []

    return run


@pytest.fixture
def later(sql: Callable[..., Any]) -> Callable[[float], None]:
    """Time passes for every message: nobody waits for a lease to end."""

    def go(seconds: float) -> None:
        micros = round(seconds * 1_000_000)
        sql("UPDATE {table} SET due = due - %s, pushed_at = pushed_at - %s", micros, micros)

    return go
