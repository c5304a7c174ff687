"""What is over is kept for ``HISTORY_DAYS`` (roll-ups: ``MINUTES_DAYS``, ``HOURS_DAYS``), then deleted by
the page. What is in force or quarantined stays.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from queueops.conf import conf
from queueops.models import (
    BatchItem,
    Intervention,
    Isolation,
    OnceDone,
    Override,
    Pause,
    QuarantinedJob,
    Rollup,
    SettingState,
)

PAGE = 500


def prune() -> int:
    """Delete at most a page of each kind. Returns how many rows went."""
    early = timezone.now() - timedelta(days=conf.HISTORY_DAYS)
    over = (Intervention.State.DONE, Intervention.State.FAILED)
    gone = _page(BatchItem, batch__finished__lt=early)
    if gone < PAGE:
        # a batch goes with its intervention, once its items are gone
        gone += _page(Intervention, state__in=over, at__lt=early, batch__items__isnull=True)
    gone += _page(OnceDone, keep_until__lt=timezone.now())
    for model in (Pause, Isolation, Override):
        gone += _page(model, state=SettingState.LIFTED, created__lt=early, lifted_at__lt=early)
    for width, days in ((Rollup.Width.MINUTE, conf.MINUTES_DAYS), (Rollup.Width.HOUR, conf.HOURS_DAYS)):
        gone += _page(Rollup, width=width, start__lt=time.time() - days * 86_400)
    left = [state for state in QuarantinedJob.State.values if state != QuarantinedJob.State.QUARANTINED]
    return gone + _page(QuarantinedJob, state__in=left, quarantined_at__lt=early, changed__lt=early)


def _page(model: type[Model], **conditions: Any) -> int:
    keys = list(model._default_manager.filter(**conditions).order_by("pk").values_list("pk", flat=True)[:PAGE])
    if keys:
        model._default_manager.filter(pk__in=keys).delete()
    return len(keys)
