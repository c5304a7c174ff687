"""Changes that were interrupted between SQL and Redis are finished or taken back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from queueops.monitor.duty import Context
from queueops.operations.recover import recover


def act(context: Context) -> dict[str, Any]:
    """One round; again at once while a bulk operation has work left."""
    done = asdict(recover())
    errors = done.pop("errors")
    if errors:
        raise RuntimeError("; ".join(errors))
    return {**done, "again": done.get("batch_items", 0) > 0}
