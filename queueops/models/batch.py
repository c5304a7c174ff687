"""A bulk replay or discard: resumable, stoppable, and adding up."""

from __future__ import annotations

from django.db import models


class Batch(models.Model):
    """``total = done + skipped + gone`` once finished. ``owner`` works on it until ``owned_until`` (a lease)."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        DONE = "done", "done"
        STOPPED = "stopped", "stopped"

    id = models.CharField(primary_key=True, max_length=32, editable=False)
    intervention = models.OneToOneField("queueops.Intervention", on_delete=models.CASCADE, related_name="batch")
    verb = models.CharField(max_length=16)
    selection = models.JSONField(default=dict)
    rate = models.FloatField(
        null=True,
        blank=True,
        help_text="Jobs per second; empty means as fast as it goes.",
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING, db_index=True)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    gone = models.PositiveIntegerField(default=0)
    reasons = models.JSONField(default=dict, help_text="Why jobs were skipped: reason to count.")
    created = models.DateTimeField()
    finished = models.DateTimeField(null=True, blank=True)
    owner = models.CharField(max_length=32, blank=True, default="")
    owned_until = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField(null=True, blank=True, help_text="Not before this, to keep the rate.")

    class Meta:
        ordering = ("-created",)
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"{self.verb} {self.done + self.skipped + self.gone}/{self.total}"
