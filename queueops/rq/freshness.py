"""freshness: how new is what the jobs of one kind have made?"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings

from queueops.conf import conf
from queueops.middleware import DeclarationError, job_controls
from queueops.middleware.functions import own_name
from queueops.rdb.client import server_of


class Freshness(NamedTuple):
    """When work of this kind was last accepted, and last completed (UTC); None when not within the last 7 days.

    What it makes is up to date when ``completed_at`` is later than ``accepted_at``.
    """

    accepted_at: datetime | None
    completed_at: datetime | None


def freshness(func: Callable[..., Any] | str, *args: Any, queue: str | None = None, **kwargs: Any) -> Freshness:
    """When the job that this call would be unique with was last accepted and completed; one round trip.

    ``queue``: the queue it is sent to, unless the lock counts across queues; the first of ``RQ_QUEUES`` by default.
    Raises ``DeclarationError`` for a function without a ``Unique`` that is taken at enqueue, ``ClaimError`` for
    arguments that give no key.
    """
    queue = next(iter(settings.RQ_QUEUES)) if queue is None else queue
    name = func if isinstance(func, str) else own_name(func)
    controls = job_controls(name, None if isinstance(func, str) else func, args, kwargs, queue)
    if controls is None or not controls.uniques:
        raise DeclarationError(f"{name} declares no Unique(...) that is taken at enqueue: nothing is known of its age")
    instance = json.loads(controls.uniques)[0]["i"]
    found = server_of(queue).connection.hmget(conf.keys.of("fresh", instance), "accepted", "completed")
    return Freshness(*(datetime.fromtimestamp(int(raw) / 1e6, UTC) if raw else None for raw in found))
