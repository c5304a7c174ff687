"""What a queue did in a minute or an hour, kept long after Redis has forgotten it."""

from __future__ import annotations

from django.db import models


class Rollup(models.Model):
    """One bucket of one queue. A bucket of the queue ``""`` says that the server's counters were known to count then:
    a queue without a row beside it did nothing; without it nothing is known, and a chart has a gap. It holds the sums
    of all queues, and gauges only if somebody looked at the end of the bucket: else those of every queue are unknown.
    """

    class Width(models.IntegerChoices):
        MINUTE = 60, "minute"
        HOUR = 3600, "hour"

    width = models.PositiveIntegerField(choices=Width.choices, help_text="Seconds.")
    start = models.BigIntegerField(help_text="Epoch seconds, by the clock of Redis.")
    server = models.CharField(max_length=100)
    queue = models.CharField(max_length=255)
    counts = models.JSONField(default=dict, help_text="event: how many, of the whole queue")
    functions = models.JSONField(default=dict, help_text="function: {n: counts, w, r: {bin: jobs}, wt, rt: µs}")
    gauges = models.JSONField(default=dict, help_text="open, waiting, held, oldest_age (s) at the end of the bucket")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("width", "server", "queue", "start"), name="qo_rollup"),)
        indexes = (models.Index(fields=("width", "start"), name="qo_rollup_start"),)

    def __str__(self) -> str:
        return f"{self.queue or self.server} {self.start}"
