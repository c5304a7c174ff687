"""A queue, a function, or everything, that starts nothing for now."""

from __future__ import annotations

from django.db import models

from queueops.models.setting import Setting


class Pause(Setting):
    """``name`` is the queue or the dotted function name; empty for kind ``all``."""

    class Kind(models.TextChoices):
        QUEUE = "queue", "queue"
        FUNCTION = "function", "function"
        ALL = "all", "everything"

    kind = models.CharField(max_length=16, choices=Kind.choices)

    class Meta(Setting.Meta):
        pass

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()
