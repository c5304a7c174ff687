"""What pauses, isolations and overrides have in common: a named thing, set by someone, for a reason, until an end."""

from __future__ import annotations

import uuid

from django.db import models


class SettingState(models.TextChoices):
    """``applying`` → ``in_force`` → ``lifting`` → ``lifted``; the middle of each arrow is the Redis script."""

    APPLYING = "applying", "applying"
    IN_FORCE = "in_force", "in force"
    LIFTING = "lifting", "lifting"
    LIFTED = "lifted", "lifted"


ACTIVE = (SettingState.APPLYING, SettingState.IN_FORCE)
"""States of the rows that belong in Redis."""


def new_id() -> str:
    """An id that no other database has given out, since Redis may outlive this one."""
    return uuid.uuid4().hex


class Setting(models.Model):
    """Base of what is mirrored to Redis. ``slot`` is taken while the row is not lifted: one live row per thing."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id, editable=False)
    slot = models.CharField(max_length=64, null=True, blank=True, unique=True, editable=False)
    name = models.CharField(max_length=600)
    until = models.DateTimeField(null=True, blank=True)
    reason = models.TextField()
    actor = models.CharField(max_length=150)
    created = models.DateTimeField(db_index=True)
    state = models.CharField(
        max_length=16,
        choices=SettingState.choices,
        default=SettingState.APPLYING,
        db_index=True,
    )
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=150, blank=True, default="")
    intervention = models.ForeignKey(
        "queueops.Intervention",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    class Meta:
        abstract = True
        ordering = ("-created",)
