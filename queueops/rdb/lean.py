"""Makes a script cheap to enter: Redis runs the whole chunk, all its function definitions too, for each call.

A closure costs more the more open locals it captures (Lua walks their list), and half of the includes' functions are
not used by a given script. So functions that a script cannot reach are left out, and the others go into one table.
What the script does stays the same.
"""

from __future__ import annotations

import re

_STRING = r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\""""
_COMMENT = re.compile(rf"({_STRING})|--[^\n]*")
_FUNCTION = re.compile(r"^local function (\w+)\(")
_WORD = re.compile(r"\w+")


def lean(source: str) -> str:
    """``source`` without comments and unreachable functions, its top-level functions in a table ``Q``.

    A top-level function starts at the beginning of a line with ``local function`` and ends there with ``end`` (or is
    one line). A name that is also a parameter or a local somewhere is left as it is.
    """
    chunks = _reachable(_chunks(_without_comments(source)))
    names = [name for name, _ in chunks if name]
    moved = {name: f"Q[{number}]" for number, name in enumerate(_unambiguous(names, chunks), start=1)}
    if not moved:
        return "\n".join(text for _, text in chunks) + "\n"
    return f"local Q={{{','.join('0' * len(moved))}}}\n{_rename(chunks, moved)}\n"


def _without_comments(source: str) -> str:
    text = _COMMENT.sub(lambda match: match.group(1) or "", source)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _chunks(source: str) -> list[tuple[str, str]]:
    """``(function or "", text)`` in order."""
    chunks: list[tuple[str, str]] = []
    lines = iter(source.splitlines())
    for line in lines:
        match = _FUNCTION.match(line)
        if match is None:
            chunks.append(("", line))
            continue
        body = [line]
        while not (body[-1] == "end" or (len(body) == 1 and line.endswith(" end"))):
            body.append(next(lines))
        chunks.append((match.group(1), "\n".join(body)))
    return chunks


def _reachable(chunks: list[tuple[str, str]]) -> list[tuple[str, str]]:
    used = {name: set(_WORD.findall(text)) for name, text in chunks if name}
    wanted = [word for name, text in chunks if not name for word in _WORD.findall(text)]
    kept: set[str] = set()
    while wanted:
        word = wanted.pop()
        if word in used and word not in kept:
            kept.add(word)
            wanted += used[word]
    return [(name, text) for name, text in chunks if not name or name in kept]


_LOCALS = re.compile(r"\blocal (?:function )?([\w, ]+)|\bfunction[ \w.]*\(([\w, ]*)\)|\bfor ([\w, ]+?) (?:in|=)")


def _unambiguous(names: list[str], chunks: list[tuple[str, str]]) -> list[str]:
    text = "\n".join(re.sub(_FUNCTION, "function (", text) for _, text in chunks)
    taken = {word for listed in _LOCALS.findall(text) for part in listed for word in _WORD.findall(part)}
    return [name for name in names if name not in taken and names.count(name) == 1]


def _rename(chunks: list[tuple[str, str]], moved: dict[str, str]) -> str:
    headed = [f"{moved[n]}=function{t[len(f'local function {n}') :]}" if n in moved else t for n, t in chunks]
    # not a field (x.name, x:name, {name = ...}); after the two dots of a concatenation it is a name again
    name = rf"(?<![\w:])(?<!(?<!\.)\.)({'|'.join(moved)})\b(?!\s*=[^=])"
    renamed = re.compile(rf"{_STRING}|{name}")
    return renamed.sub(lambda match: moved[match.group(1)] if match.group(1) else match.group(), "\n".join(headed))
