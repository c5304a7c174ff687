"""A function, an error or a key whose jobs go to quarantine instead of running."""

from __future__ import annotations

from django.db import models

from queueops.models.setting import Setting


class Isolation(Setting):
    """``name`` is the dotted function name, the error fingerprint, or the instance id of a control's key."""

    class Kind(models.TextChoices):
        FUNCTION = "function", "function"
        ERROR = "error", "error"
        KEY = "key", "key"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField(blank=True, default="", help_text="The key as it was given, for reading.")

    class Meta(Setting.Meta):
        pass

    def __str__(self) -> str:
        return f"{self.kind} {self.text or self.name}"
