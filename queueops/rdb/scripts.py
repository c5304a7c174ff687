"""Loads ``lua/*.lua``: resolves includes, prepends keys and constants, runs by SHA and falls back to the source."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from redis.exceptions import (
    ClusterDownError,
    ConnectionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TimeoutError,
    TryAgainError,
)

from queueops.conf import conf
from queueops.rdb.keys import Keys, lua_literals

SCHEMA = 1
"""Number of the key layout. A script refuses a newer one and, from the second layout on, reads the previous one."""

OFFER = 2_000_000
"""How long a woken job's reservation lasts (µs)."""

movable_clock = False
"""Only ``queueops.testing.clock`` sets it: scripts then add the time passed by it to the store's clock."""

_CONSTANT = re.compile(r"\bC\.(\w+)")
_INCLUDE = re.compile(r"^--- include (\w+)$", re.MULTILINE)


class ScriptError(Exception):
    """A script refused: ``code`` is one word, ``text`` says why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code = code
        self.text = text


class Unavailable(ConnectionError):
    """The server answers, but takes no writes now: it cannot persist, has too few replicas, or is busy."""


class Unreadable(ScriptError):
    """A key that a script needs holds something else, and nothing of ours could be put right."""

    def __init__(self, text: str, job: str = "", instances: Sequence[str] = (), queues: Sequence[str] = ()) -> None:
        super().__init__("UNREADABLE", text)
        self.job = job
        """The job that could not be started because of it, if it was one."""
        self.instances, self.queues = tuple(map(str, instances)), tuple(queues)
        """What may hold the key."""


SILENT = (ConnectionError, TimeoutError, ReadOnlyError, OutOfMemoryError, ClusterDownError, TryAgainError, Unreadable)
"""What a worker waits out: nothing was decided, and asking again is right."""

_INSIDE = re.compile(r"(?<=: -)([A-Z]+) [^\n]*")
"""Servers before 7.0 put what a command in a script answered at the end of a text of their own."""

_PASSING = ("MISCONF", "NOREPLICAS", "BUSY ", "MASTERDOWN")


@dataclass(frozen=True, slots=True)
class Script:
    source: str
    sha: str


@lru_cache(maxsize=128)
def _read(path: str) -> str:
    return files("queueops.rdb").joinpath("lua", path).read_text("utf-8")


def resolve(name: str) -> str:
    """The source of a script with each include put in once, in the order of first mention.

    Raises ``ValueError`` for a circle of includes.
    """
    done: list[str] = []
    open_: list[str] = []

    def expand(text: str) -> str:
        def put(match: re.Match[str]) -> str:
            part = match.group(1)
            if part in open_:
                raise ValueError(f"circle of includes: {' -> '.join([*open_, part])}")
            if part in done:
                return ""
            open_.append(part)
            body = expand(_read(f"includes/{part}.lua"))
            open_.pop()
            done.append(part)
            return body

        return _INCLUDE.sub(put, text)

    return expand(_read(f"{name}.lua"))


@lru_cache(maxsize=256)
def _build(
    name: str, prefix: str, log_length: int, history: int, kept: float, after: int, crashes: int, clock: bool
) -> Script:
    constants = {
        "schema": f"'{SCHEMA}'",
        "offer": str(OFFER),
        "log_length": str(log_length),
        "history_length": str(history),
        "history_ms": str(round(kept * 1000)),
        "after": str(after),
        "crashes": str(crashes),
        "clock": "true" if clock else "false",
    }
    # Literals, as with the keys: a table would be built anew for each call.
    body = _CONSTANT.sub(lambda match: constants[match.group(1)], resolve(name))
    source = lua_literals(Keys(prefix), body)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def script(name: str) -> Script:
    """The script as it runs under the settings in force."""
    rule = conf.QUARANTINE
    history, kept = conf.LOCK_HISTORY, conf.LOCK_HISTORY_KEPT
    length, after, crashes = conf.CHANGELOG_LENGTH, rule["after"], rule["crashes"]
    return _build(name, conf.PREFIX, length, history, kept, after, crashes, movable_clock)


def run(connection: Any, name: str, *args: Any, instances: tuple[str, ...] = ()) -> Any:
    """Run ``lua/<name>.lua``; everything goes in ARGV.

    ``NOSCRIPT`` (a restart, a failover, SCRIPT FLUSH) is answered with the full source once. A key of ours that holds
    something else is set aside and the call made again; ``instances``: those that it touches.
    Raises :class:`ScriptError` for an answer ``QO <CODE> <text>``, else redis-py's own errors.
    """
    try:
        return run_as_is(connection, name, *args)
    except Unreadable as error:
        from queueops.rdb import mending  # it runs scripts itself

        error.instances += instances
        if not mending.put_right(connection, error):
            raise
    return run_as_is(connection, name, *args)


def run_as_is(connection: Any, name: str, *args: Any) -> Any:
    """As :func:`run`, but nothing is set aside."""
    loaded = script(name)
    try:
        try:
            return connection.evalsha(loaded.sha, 0, *args)
        except NoScriptError:
            return connection.eval(loaded.source, 0, *args)
    except ResponseError as error:
        told = translate(error)
        if isinstance(told, ReadOnlyError):
            # a primary that became a replica: the next connection is to ask anew who is primary
            connection.connection_pool.disconnect(inuse_connections=False)
        raise told from error


def translate(error: ResponseError) -> Exception:
    """The :class:`ScriptError` behind a Redis error that one of our scripts raised, ``Unavailable`` for a server that
    takes no writes for now, else the error itself.
    """
    inside = _INSIDE.search(str(error))
    if inside:
        error = {"OOM": OutOfMemoryError, "READONLY": ReadOnlyError}.get(inside[1], ResponseError)(inside[0])
    if (inside[0] if inside else str(error)).startswith(_PASSING):
        return Unavailable(str(error))
    match = re.match(r"QO (\w+) ?(.*)", str(error))
    if match and match[1] == "UNREADABLE":
        told = json.loads(match[2])
        return Unreadable(told["why"], told.get("job", ""), told["instances"] or (), told["queues"])
    if match:
        return ScriptError(match[1], match[2])
    return Unreadable(str(error)) if "WRONGTYPE" in str(error) else error
