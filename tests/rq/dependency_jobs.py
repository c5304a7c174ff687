"""Jobs that use something outside."""

from __future__ import annotations

import time
from typing import Any

from queueops import dependency


def ask(name: Any = "courier-api", fail: bool = False) -> str:
    with dependency(name):
        if fail:
            raise ConnectionError("no answer")
    return "answered"


def nested() -> None:
    with dependency("outer"):
        with dependency("inner"):
            pass
        with dependency("inner"):
            pass


def many(names: int) -> None:
    for n in range(names):
        with dependency(f"user-{n}"):
            pass


def lasting(seconds: float) -> None:
    """Tells on its way: the second block begins after the time at which that is due."""
    with dependency("slow"):
        time.sleep(seconds)
    with dependency("slow"):
        pass
    told.append(True)


told: list[bool] = []
