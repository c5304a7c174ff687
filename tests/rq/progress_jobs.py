"""Jobs that say how far they are, in every way that they may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queueops import progress

TOLD: list[tuple[Any, ...]] = []
"""What the next job says."""
BETWEEN: list[Callable[[], None]] = []
"""What happens after each of them."""


def tells() -> str:
    for words in TOLD:
        progress(*words)
        for act in BETWEEN:
            act()
    return "done"
