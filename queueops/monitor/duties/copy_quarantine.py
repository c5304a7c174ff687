"""Each quarantined job is copied to SQL with its payload."""

from __future__ import annotations

from typing import Any

from queueops.monitor.duty import Context
from queueops.operations import copies

PAGES = 20


def act(context: Context) -> dict[str, Any]:
    """Copy pages until the list is empty or the bound is reached."""
    return {"copied": copies.sync(context.server, pages=PAGES, go_on=lambda: context.may_go_on)}
