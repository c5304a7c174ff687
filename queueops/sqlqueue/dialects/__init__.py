"""The statements of one database each; what they must do is said in ``base``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from queueops.sqlqueue.dialects.base import Dialect, Push, Row

__all__ = ["Dialect", "Push", "Row", "dialect_of"]

_MADE: dict[str, Dialect] = {}


def dialect_of(connection: Any) -> Dialect:
    """The statements for this connection. Raises ``ImproperlyConfigured`` for a database that has none."""
    vendor = connection.vendor
    if vendor not in _MADE:
        if vendor not in {"postgresql", "mysql", "sqlite"}:
            raise ImproperlyConfigured(f"SQL queues need PostgreSQL, MySQL, MariaDB or SQLite, not {vendor}")
        _MADE[vendor] = import_module(f"queueops.sqlqueue.dialects.{vendor}").DIALECT
    return _MADE[vendor]
