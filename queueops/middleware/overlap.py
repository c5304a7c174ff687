"""WithoutOverlapping: one job at a time for each key."""

from __future__ import annotations

from queueops.middleware.control import KeyTemplate, Seconds, SharedControl
from queueops.primitives.definition import held_control
from queueops.primitives.options import Refusal


class WithoutOverlapping(SharedControl):
    """One at a time per key. Without ``name`` the lock is the function's own; a name shares it across functions.

    ``lease``: seconds until the lock of a worker that vanished is free again; renewed while the job runs
    (``QUEUEOPS["LEASE"]``, 30). ``otherwise``: ``"wait"``, or ``"drop"`` to skip the job. ``release_after``: come
    back after so many seconds instead of being woken. ``max_wait``: after so many seconds of waiting, quarantine.
    """

    def __init__(
        self,
        name: str | None = None,
        key: KeyTemplate = "",
        *,
        lease: Seconds | None = None,
        otherwise: str = "wait",
        release_after: Seconds | None = None,
        max_wait: Seconds | None = None,
    ) -> None:
        owner = f"WithoutOverlapping({name!r})" if name is not None else "WithoutOverlapping()"
        control = held_control(owner, "lock", name, lease=lease)
        super().__init__(owner, control, key, 1, Refusal.made(owner, otherwise, release_after, max_wait))
