"""Fields that compare as Python does, on every database."""

from __future__ import annotations

from typing import Any

from django.db import models

BINARY = {"mysql": "utf8mb4_bin", "postgresql": "C"}
"""The collation in which two texts are equal only when their characters are; SQLite compares so by itself."""


class ExactCharField(models.CharField):
    """Text in which case and accents count, as in Python."""

    def db_parameters(self, connection: Any) -> dict[str, Any]:
        return {**super().db_parameters(connection), "collation": BINARY.get(connection.vendor)}
