"""The database servers of these tests: each run makes a database of its own on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock
from uuid import uuid4

from django.core.management import call_command
from django.db import connections

from queueops.project import environ
from tests.support import missing

URLS = {
    "postgresql": os.environ.get("TEST_POSTGRESQL_URL", "postgres://postgres@127.0.0.1:5432/test"),
    "mysql": os.environ.get("TEST_MYSQL_URL", "mysql://root@127.0.0.1:3306/test"),
}
"""Where a database may be made and dropped."""


@contextmanager
def database(vendor: str) -> Iterator[str]:
    """The alias of a new, migrated database; skips (fails in CI) where the server does not answer."""
    name = f"qo_{uuid4().hex[:12]}"
    if vendor == "sqlite":
        with TemporaryDirectory() as home:
            _add(vendor, _settings(f"sqlite:///{home}/{name}.sqlite3"))
            call_command("migrate", "queueops", database=vendor, verbosity=0)
            yield vendor
            connections[vendor].close()
        return
    server, alias = f"{vendor}_server", vendor
    _add(server, _settings(URLS[vendor]))
    try:
        with connections[server].cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
    except Exception as error:
        missing(f"{vendor} at {URLS[vendor]} does not answer: {error}")
    _add(alias, {**_settings(URLS[vendor]), "NAME": name})
    try:
        call_command("migrate", "queueops", database=alias, verbosity=0)
        yield alias
    finally:
        connections[alias].close()
        with connections[server].cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}" + (" WITH (FORCE)" if vendor == "postgresql" else ""))
        connections[server].close()


def url_of(alias: str) -> str:
    """What DATABASE_URL is to be for a child process on this database."""
    name = connections[alias].settings_dict["NAME"]
    return f"sqlite:///{name}" if alias == "sqlite" else f"{URLS[alias].rpartition('/')[0]}/{name}"


def _settings(url: str) -> dict[str, Any]:
    with mock.patch.dict(os.environ, DATABASE_URL=url):
        return environ.database(Path())


def _add(alias: str, settings: dict[str, Any]) -> None:
    connections.databases[alias] = connections.configure_settings({"default": {}, alias: settings})[alias]
