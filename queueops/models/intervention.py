"""One change made by a person: who, when, what, why, before, after, and how it ended."""

from __future__ import annotations

from django.db import models

PERMISSIONS = (
    ("view_dashboard", "Can see the dashboard"),
    ("operate", "Can pause, resume, limit, isolate, stop and move"),
    ("replay", "Can replay, requeue, quarantine and discard jobs"),
    ("release", "Can release the holders of a control by force"),
    ("configure", "Can change rules, runbooks and settings"),
    ("approve", "Can approve what needs a second person"),
)


class Intervention(models.Model):
    """The audit row of a verb. It is written before Redis is touched, and kept for ``HISTORY_DAYS``."""

    class State(models.TextChoices):
        APPLYING = "applying", "applying"
        IN_FORCE = "in_force", "in force"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    at = models.DateTimeField(db_index=True)
    actor = models.CharField(max_length=150)
    verb = models.CharField(max_length=32, db_index=True)
    target = models.CharField(max_length=600)
    reason = models.TextField()
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=State.choices, default=State.APPLYING)
    error = models.TextField(blank=True, default="")
    ends = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering = ("-at", "-id")
        permissions = PERMISSIONS
        indexes = (models.Index(fields=("state", "at"), name="qo_intervention_state"),)

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"
