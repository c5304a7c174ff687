"""What each queue did, minute by minute and hour by hour, is kept in SQL."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.operations import history


def act(context: Context) -> dict[str, Any]:
    """Write the minutes that are over."""
    return {"minutes": history.roll_up(context.server, lambda: context.may_go_on)}
