"""The trace that a side effect leaves in the transaction that made it."""

from __future__ import annotations

from django.db import models


class OnceDone(models.Model):
    """``once(key)`` was first for this key; until ``keep_until`` it is for nobody else."""

    key_hash = models.CharField(max_length=64, primary_key=True)
    key = models.CharField(max_length=500)
    at = models.DateTimeField()
    keep_until = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "side effect done"
        verbose_name_plural = "side effects done"

    def __str__(self) -> str:
        return self.key
