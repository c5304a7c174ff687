"""A message of a SQL queue."""

from __future__ import annotations

from django.db import models

from queueops.models.fields import ExactCharField


class SQLMessage(models.Model):
    """One open or dead message; an acknowledged one is deleted. Times are µs since 1970 by the database's clock.

    ``due`` is the time that its state is about: since when it may be taken (ready), when it may be (delayed), when its
    lease ends (leased), when it died (dead). A lease that has ended and a delay that is over become ready by
    ``promote`` alone, which every pop brings about: so a pop reads ready rows only, however many wait in front.
    """

    class State(models.IntegerChoices):
        READY = 0, "ready"
        LEASED = 1, "leased"
        DELAYED = 2, "delayed"
        DEAD = 3, "dead"

    queue = ExactCharField(max_length=200)
    state = models.PositiveSmallIntegerField(choices=State.choices)
    rank = models.IntegerField(help_text="The priority with its sign turned: lower ones are taken first.")
    due = models.BigIntegerField()
    attempts = models.PositiveIntegerField(help_text="How often it was taken; counted when it is taken.")
    max_attempts = models.PositiveIntegerField()
    token = ExactCharField(max_length=32, null=True, help_text="Of its lease; whoever knows it holds the message.")
    holder = models.CharField(max_length=200, help_text="Who took it last.")
    leased_at = models.BigIntegerField(null=True)
    pushed_at = models.BigIntegerField()
    dedupe = ExactCharField(max_length=64, null=True, help_text="SHA-256 of dedupe_key while the message is open.")
    dedupe_key = models.CharField(max_length=500, null=True)  # noqa: DJ001
    error = models.CharField(max_length=1000, help_text="Why it was given back last.")
    data = models.BinaryField()

    class Meta:
        verbose_name = "SQL message"
        constraints = (models.UniqueConstraint(fields=("queue", "dedupe"), name="qo_message_dedupe"),)
        indexes = (
            models.Index(fields=("queue", "state", "rank", "id"), name="qo_message_take"),
            models.Index(fields=("queue", "state", "due"), name="qo_message_due"),
        )

    def __str__(self) -> str:
        return f"{self.queue} {self.pk}"
