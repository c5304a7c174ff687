"""What a verb answers when it cannot do what was asked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from queueops.rdb.client import Server


class OperationError(Exception):
    """The change was not made; the text says why and what to do. ``code`` is for machines."""

    def __init__(self, text: str, code: str = "refused") -> None:
        super().__init__(text)
        self.code = code


class UnknownName(OperationError):
    """The named thing does not exist; close names are in ``matches``."""

    def __init__(self, what: str, name: str, known: Iterable[str], silent: Iterable[Server] = ()) -> None:
        names = sorted(set(known))
        self.matches = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
        lower = name.casefold()
        self.matches += [n for n in names if lower and lower in n.casefold() and n not in self.matches][:5]
        text = f"There is no {what} named {name!r}."
        if self.matches:
            text += " Close: " + ", ".join(repr(match) for match in self.matches) + "."
        elif names:
            shown = ", ".join(repr(n) for n in names[:10])
            text += f" Known: {shown}" + (f" and {len(names) - 10} more." if len(names) > 10 else ".")
        if what == "control":
            text += " `manage.py queueops locks` lists those in use."
        if dumb := ", ".join(server.entry for server in silent):
            text += f" The server of {dumb} does not answer: what it knows is not known here."
        super().__init__(text, code=f"unknown_{what}")
