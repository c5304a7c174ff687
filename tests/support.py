"""Helpers that several test packages share."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def in_ci() -> bool:
    """Nothing may be missing here."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def missing(reason: str) -> None:
    """Skip the test on a laptop; fail it in CI, where what it needs must be installed."""
    if in_ci():
        pytest.fail(f"missing in CI: {reason}")
    pytest.skip(reason)


def require(name: str, reason: str = "") -> str:
    """The path of the program ``name``, or :func:`missing`."""
    path = shutil.which(name)
    if path is None:
        missing(f"{name} is not installed" + (f": {reason}" if reason else ""))
    return str(path)


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(check: Callable[[], Any], seconds: float = 60, what: str = "") -> Any:
    """The first true answer of ``check``, asked every 20 ms; for what other processes do. Fails after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > deadline:
            pytest.fail(
                f"not within {seconds:g} s: {what or getattr(check, '__name__', check)}; last answer {answer!r}"
            )
        time.sleep(0.02)
