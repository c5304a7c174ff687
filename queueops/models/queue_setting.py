"""What an operator states about a queue, over what the settings file says."""

from __future__ import annotations

from django.db import models


class QueueSetting(models.Model):
    """``max_age`` (s): the oldest waiting job may be this old before the queue counts as unhealthy."""

    name = models.CharField(max_length=255, unique=True)
    max_age = models.PositiveIntegerField(null=True, blank=True)
    note = models.TextField(blank=True, default="")
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
