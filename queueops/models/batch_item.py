"""One job of a batch."""

from __future__ import annotations

from django.db import models


class BatchItem(models.Model):
    """``position`` is the order of work (oldest first). The outcome is empty until the job had its turn."""

    class Outcome(models.TextChoices):
        TODO = "", "to do"
        DONE = "done", "done"
        SKIPPED = "skipped", "skipped"
        GONE = "gone", "gone"

    batch = models.ForeignKey("queueops.Batch", on_delete=models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    server = models.CharField(max_length=100, default="default")
    job_id = models.CharField(max_length=255)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True, default="")
    detail = models.CharField(
        max_length=300,
        blank=True,
        default="",
        help_text="The new id, or why it was skipped.",
    )

    class Meta:
        ordering = ("batch", "position")
        constraints = (models.UniqueConstraint(fields=("batch", "position"), name="qo_batch_position"),)
        indexes = (models.Index(fields=("batch", "outcome", "position"), name="qo_batch_todo"),)

    def __str__(self) -> str:
        return self.job_id
