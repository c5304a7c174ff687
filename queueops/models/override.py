"""An operator's limit on a control: it wins over the declared one until its end."""

from __future__ import annotations

from django.db import models

from queueops.models.setting import Setting


class Override(Setting):
    """``name`` is the control id (``S:s3-upload``). A limit of 0 means stop."""

    limit = models.PositiveIntegerField()

    class Meta(Setting.Meta):
        pass

    @property
    def control(self) -> str:
        return self.name

    def __str__(self) -> str:
        return f"{self.name} limit {self.limit}"
