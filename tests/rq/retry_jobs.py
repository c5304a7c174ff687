"""Job functions that fail."""

from __future__ import annotations

from typing import Any

from rq import get_current_job

from queueops import Retries, ThrottlesExceptions, controlled

CALLS: list[Any] = []


@controlled(Retries(max=3, jitter=False))
def always_fails() -> None:
    CALLS.append(1)
    raise ValueError("again")


@controlled(Retries(max=3, on=(LookupError,)))
def calls(how: str) -> None:
    raise LookupError(how) if how == "lost" else ValueError(how)


def mend(connection: Any) -> None:
    """From here on nothing is lost."""
    connection.set("mended", 1)


@controlled(ThrottlesExceptions(3, 60, "{shop}", name="courier", on=(LookupError,), backoff=30))
def courier(how: str, shop: int) -> None:
    if how != "ok" and not get_current_job().connection.exists("mended"):  # type: ignore[union-attr]
        raise LookupError(how) if how == "lost" else ValueError(how)
