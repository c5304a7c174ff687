"""Secrets out of displayed text: by the name of the key, at any depth, and passwords inside URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "••••"

_ANYWHERE = re.compile(
    r"passw|passphrase|pwd|secret|token|api[_-]?key|authori[sz]ation|credential|"
    r"(?:private|access|signing|encryption|card)[_-]?(?:key|number)|cookie|session[_-]?(?:id|key)|csrf",
    re.IGNORECASE,
)
_WHOLE = frozenset({"auth", "pass", "pin", "otp", "cvv", "cvc", "ssn", "iban", "dsn", "jwt", "bearer"})
_SPLIT = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")
# a key in text: bare or quoted, then = or :
_KEY = re.compile(r"""(?P<q>\\?["']?)(?P<key>[A-Za-z_][\w.-]{0,80})(?P=q)\s*(?P<sep>=>|[:=])\s*""")
_URL = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)(?P<user>[^\s/@:'\"<>]*):(?P<password>[^\s/'\"<>]*)@")
_SCHEMES = re.compile(r"\b(?P<scheme>Bearer|Basic|Token|Digest)\s+(?P<value>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE)
_LOOKS = re.compile(
    r"\b(?:sk|pk|rk)_(?:live|test)_\w{8,}|\bAKIA[0-9A-Z]{12,}|\bgh[pousr]_\w{20,}|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*"
)
_OPEN = {"(": ")", "[": "]", "{": "}"}


def secret_name(name: str) -> bool:
    """True when a value under this key is not to be shown: ``password``, ``api_key``, ``dbToken``, ``auth`` …"""
    return bool(_ANYWHERE.search(name)) or any(word.lower() in _WHOLE for word in _SPLIT.split(name))


def mask_text(text: str) -> str:
    """``text`` with the values of secret keys replaced; works on reprs, JSON, headers, query strings, tracebacks."""
    text = _URL.sub(lambda m: f"{m['scheme']}{m['user']}:{MASK}@", text)
    out: list[str] = []
    position = 0
    for match in _KEY.finditer(text):
        if match.start() < position or not secret_name(match["key"]):
            continue
        end = _value_end(text, match.end(), header=match["sep"] == ":" and not match["q"])
        if end > match.end():
            out += [text[position : match.end()], MASK]
            position = end
    out.append(text[position:])
    masked = _SCHEMES.sub(lambda m: f"{m['scheme']} {MASK}", "".join(out))
    return _LOOKS.sub(MASK, masked)


def _value_end(text: str, start: int, *, header: bool) -> int:
    """Where the value that starts at ``start`` ends: a quoted string, a bracketed group, a header's line, or a word."""
    at = start
    while at < len(text) and text[at] in "bBuUrRfF" and text[at + 1 : at + 2] in ('"', "'"):
        at += 1
    if at >= len(text):
        return at
    if text[at] in "\"'":
        return _string_end(text, at)
    if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "'"):  # a string inside an escaped string
        close = text.find(text[at : at + 2], at + 2)
        return close + 2 if close >= 0 else len(text)
    if text[at] in _OPEN:
        return _group_end(text, at)
    stop = "\r\n\"'" if header else " \t\r\n,;&)]}\"'"
    while at < len(text) and text[at] not in stop:
        at += 1
    return at


def _string_end(text: str, start: int) -> int:
    quote, at = text[start], start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == quote:
            return at + 1
        at += 1
    return len(text)


def _group_end(text: str, start: int) -> int:
    stack, at = [_OPEN[text[start]]], start + 1
    while at < len(text) and stack:
        char = text[at]
        if char in "\"'":
            at = _string_end(text, at)
            continue
        if char in _OPEN:
            stack.append(_OPEN[char])
        elif char == stack[-1]:
            stack.pop()
        at += 1
    return at


def mask(value: Any, depth: int = 0) -> Any:
    """``value`` (decoded JSON) with secret entries masked at any depth, for display and export."""
    if depth > 12:
        return MASK
    if isinstance(value, Mapping):
        return {k: MASK if secret_name(str(k)) else mask(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask(item, depth + 1) for item in value]
    return mask_text(value) if isinstance(value, str) else value
