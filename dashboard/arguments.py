"""The arguments behind a job's description, one by one: read as Python's syntax, never run."""

from __future__ import annotations

import ast
from dataclasses import dataclass

LONGEST = 4000
"""Characters of a description that is taken apart; a longer one is shown as it is."""


@dataclass(frozen=True, slots=True)
class Argument:
    """``name`` is the keyword, or the place from 1."""

    name: str
    value: str


def arguments(description: str) -> tuple[Argument, ...] | None:
    """The arguments of ``module.f(1, title='x')``; None for any other text, which is shown whole."""
    if len(description) > LONGEST or not description.endswith(")"):
        return None
    try:
        call = ast.parse(description.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call) or any(keyword.arg is None for keyword in call.keywords):
        return None
    lines = description.strip()
    found = [Argument(str(at), ast.get_source_segment(lines, arg) or "") for at, arg in enumerate(call.args, 1)]
    found += [Argument(k.arg or "", ast.get_source_segment(lines, k.value) or "") for k in call.keywords]
    return tuple(found)
