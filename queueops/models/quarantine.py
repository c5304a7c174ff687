"""The SQL copy of a quarantined job: for search, the admin and history, and to survive an emptied Redis."""

from __future__ import annotations

from django.db import models


class QuarantinedJob(models.Model):
    """Membership in Redis decides; this row follows it and keeps the payload."""

    class State(models.TextChoices):
        QUARANTINED = "quarantined", "quarantined"
        REPLAYED = "replayed", "replayed"
        DISCARDED = "discarded", "discarded"
        LEFT = "left", "left otherwise"

    server = models.CharField(max_length=100, default="default")
    job_id = models.CharField(max_length=255)
    queue = models.CharField(max_length=255, db_index=True)
    function = models.CharField(max_length=500, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="", help_text="The end of the newest traceback.")
    fingerprint = models.CharField(max_length=64, blank=True, default="", db_index=True)
    attempts = models.PositiveIntegerField(default=0)
    crashes = models.PositiveIntegerField(default=0)
    replays = models.PositiveIntegerField(default=0)
    replay_of = models.CharField(max_length=255, blank=True, default="")
    quarantined_at = models.DateTimeField(db_index=True)
    description = models.TextField(blank=True, default="")
    payload = models.TextField(
        blank=True,
        default="",
        help_text="The RQ job hash as JSON {field: base64}; empty when it was too large.",
    )
    payload_bytes = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUARANTINED)
    replayed_as = models.CharField(max_length=255, blank=True, default="")
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-quarantined_at", "-id")
        constraints = (models.UniqueConstraint(fields=("server", "job_id"), name="qo_quarantined_job"),)
        indexes = (
            models.Index(fields=("state", "quarantined_at"), name="qo_quarantined_state"),
            models.Index(fields=("job_id",), name="qo_quarantined_id"),
        )

    def __str__(self) -> str:
        return self.job_id
