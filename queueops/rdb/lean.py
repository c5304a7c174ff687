"""Makes a script cheap to enter: Redis runs the whole chunk, all its function definitions too, for each call.

A closure costs more the more open locals it captures (Lua walks their list), and half of the includes' functions are
not used by a given script. So functions that a script cannot reach are left out, and the others go into one table.
What the script does stays the same.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*)|(?P<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|(?P<name>[A-Za-z_]\w*)|(?P<space>\s+)|(?P<other>\.\.|.)"""
)
_FUNCTION = re.compile(r"^local function (\w+)\(")


def lean(source: str) -> str:
    """``source`` without comments and unreachable functions, its top-level functions in a table ``Q``.

    A top-level function starts at the beginning of a line with ``local function`` and ends there with ``end`` (or is
    one line). A name that is also a parameter or a local somewhere is left as it is.
    """
    chunks = _reachable(_chunks(_without_comments(source)))
    names = [name for name, _ in chunks if name]
    moved = {name: f"Q[{number}]" for number, name in enumerate(_unambiguous(names, chunks), start=1)}
    table = f"local Q={{{','.join('0' * len(moved))}}}\n" if moved else ""
    return table + "\n".join(_renamed(name, text, moved) for name, text in chunks) + "\n"


def _without_comments(source: str) -> str:
    text = "".join("" if match.lastgroup == "comment" else match.group() for match in _TOKEN.finditer(source))
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
    used = {name: set(re.findall(r"\w+", text)) for name, text in chunks if name}
    wanted = [word for name, text in chunks if not name for word in re.findall(r"\w+", text)]
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
    taken = {word for listed in _LOCALS.findall(text) for part in listed for word in re.findall(r"\w+", part)}
    return [name for name in names if name not in taken and names.count(name) == 1]


def _renamed(name: str, text: str, moved: dict[str, str]) -> str:
    if name in moved:
        text = moved[name] + "=function" + text[len(f"local function {name}") :]
    out: list[str] = []
    before = ""
    for match in _TOKEN.finditer(text):
        token = match.group()
        is_field = before in (".", ":") or re.match(r"\s*=[^=]", text[match.end() :])
        if match.lastgroup != "space":
            before = token
        out.append(token if is_field else moved.get(token, token))
    return "".join(out)
