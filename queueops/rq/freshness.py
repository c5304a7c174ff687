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

    What it makes is up to date when ``completed_at >= accepted_at``. Of a run that began before the newest call was
    accepted, and so may not have seen it, ``completed_at`` is when it began: that is how new its result is.
    """

    accepted_at: datetime | None
    completed_at: datetime | None


def freshness(func: Callable[..., Any] | str, *args: Any, queue: str | None = None, **kwargs: Any) -> Freshness:
    """When the job that this call would be unique with was last accepted and completed; one round trip.

    ``queue``: the queue it is sent to, unless the lock counts across queues; by default ``default``, as for
    ``django_rq.enqueue``, or the first of ``RQ_QUEUES`` where that is not among them.
    Raises ``DeclarationError`` for a function without a ``Unique`` that is taken at enqueue, ``ClaimError`` for
    arguments that give no key.
    """
    if queue is None:
        queue = "default" if "default" in settings.RQ_QUEUES else next(iter(settings.RQ_QUEUES))
    name = func if isinstance(func, str) else own_name(func)
    controls = job_controls(name, None if isinstance(func, str) else func, args, kwargs, queue)
    if controls is None or not controls.uniques:
        raise DeclarationError(f"{name} declares no Unique(...) that is taken at enqueue: nothing is known of its age")
    instance = json.loads(controls.uniques)[0]["i"]
    found = server_of(queue).connection.hmget(conf.keys.of("fresh", instance), "accepted", "completed", "began")
    accepted, completed, began = (datetime.fromtimestamp(int(raw) / 1e6, UTC) if raw else None for raw in found)
    return Freshness(accepted, began if accepted and began and began < accepted else completed)
