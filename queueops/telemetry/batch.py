"""Commands gathered for one round trip; each answer is judged alone, so one bad key does not take down a page."""

from __future__ import annotations

import json
from typing import Any

import redis
from redis.exceptions import NoScriptError, OutOfMemoryError, RedisError, ResponseError

from queueops.rdb import scripts


class Slot:
    """The place of one answer; filled by :meth:`Batch.run`."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        self.answer: Any = None

    def get(self, default: Any = None) -> Any:
        """The answer, or ``default`` when Redis gave none or refused this one command."""
        if self.answer is None or isinstance(self.answer, Exception):
            return default
        return self.answer

    def number(self) -> int:
        """The answer as a count; 0 when there is none."""
        got = self.get(0)
        return got if isinstance(got, int) else 0

    @property
    def error(self) -> RedisError | None:
        """What Redis said against this one command."""
        return self.answer if isinstance(self.answer, RedisError) else None


class Batch:
    """One pipeline. ``atomic`` wraps it in MULTI, so that its counts belong to one moment."""

    def __init__(self, connection: redis.Redis, *, atomic: bool = False) -> None:
        self._connection = connection
        self._pipe = connection.pipeline(transaction=atomic)
        self._slots: list[Slot] = []
        self._scripts: list[tuple[Slot, str, tuple[Any, ...]]] = []
        self.full = False
        """The server has no memory left: a full Redis says so to an ``atomic`` batch, a full Valkey does not."""

    def __len__(self) -> int:
        return len(self._slots)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Slot:
        """Add a command by the name of its redis-py method."""
        getattr(self._pipe, method)(*args, **kwargs)
        slot = Slot()
        self._slots.append(slot)
        return slot

    def script(self, name: str, *args: Any) -> Slot:
        """Add ``lua/<name>.lua``, which only reads. A server that does not have it yet gets it in one more trip."""
        slot = self.call("evalsha", scripts.script(name).sha, 0, *args)
        self._scripts.append((slot, name, args))
        return slot

    def run(self) -> None:
        """Send all in one round trip. A broken connection raises; a refused command stays in its slot."""
        if not self._slots:
            return
        commands = list(self._pipe.command_stack)
        try:
            answers = self._pipe.execute(raise_on_error=False)
        except OutOfMemoryError:
            self.full = True
            # a full server refuses whatever stands in MULTI: these only read, so they are asked one by one
            alone = self._connection.pipeline(transaction=False)
            alone.command_stack = commands
            answers = alone.execute(raise_on_error=False)
        for slot, answer in zip(self._slots, answers, strict=True):
            if isinstance(answer, RedisError) and not isinstance(answer, ResponseError):
                raise answer  # it is loading its data, or wants a password: that is no answer
            slot.answer = answer
        for slot, name, args in self._scripts:
            if isinstance(slot.answer, NoScriptError):
                try:
                    slot.answer = scripts.run(self._connection, name, *args)
                except ResponseError as error:
                    slot.answer = error


def text(raw: Any) -> str | None:
    """Bytes as text; ``None`` when they are not UTF-8 or there are none."""
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, bytes):
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def shown(raw: Any) -> str:
    """Bytes as text for people: what is not UTF-8 is escaped, nothing is lost silently."""
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "backslashreplace")
    return "" if raw is None else str(raw)


def number(raw: Any) -> int | None:
    """An integer field; ``None`` when it is missing or not a number."""
    try:
        return int(raw)
    except (TypeError, ValueError):
        try:
            return int(float(raw))
        except (TypeError, ValueError, OverflowError):
            return None


def decoded(raw: Any) -> dict[str, Any]:
    """A JSON object; empty when it is missing or is not one."""
    if not raw:
        return {}
    try:
        got = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return got if isinstance(got, dict) else {}
