"""Checks on the words that come with a verb."""

from __future__ import annotations

from queueops.operations.errors import OperationError
from queueops.rdb.keys import SEP

MAX_NAME = 600
MAX_REASON = 2000


def cleaned(text: object, cap: int) -> str:
    """Text that every database stores: no NUL, no lone surrogates, at most ``cap`` characters."""
    plain = str(text).encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return plain if len(plain) <= cap else plain[: cap - 1] + "…"


def checked_name(what: str, name: str) -> str:
    """``name`` as it is, or an error: a name that cannot be stored exactly would act on something else."""
    if not isinstance(name, str):
        raise OperationError(f"The {what} must be text, not {type(name).__name__}.", "bad_name")
    if len(name) > MAX_NAME:
        raise OperationError(f"The {what} is longer than {MAX_NAME} characters.", "bad_name")
    if SEP in name or cleaned(name, MAX_NAME) != name:
        raise OperationError(f"The {what} {name!r} contains a character that no name may have.", "bad_name")
    return name


def checked_reason(reason: str) -> str:
    """A reason of at least one visible character."""
    text = cleaned(reason or "", MAX_REASON).strip()
    if not text:
        raise OperationError("A reason is required: say why, for whoever reads this later.", "no_reason")
    return text


def checked_actor(actor: str) -> str:
    """Who does it."""
    text = cleaned(actor or "", 150).strip()
    if not text:
        raise OperationError("The actor is required: who makes this change?", "no_actor")
    return text
