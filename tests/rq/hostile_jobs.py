"""Jobs whose end is hard to write down: texts that cannot be encoded, errors that cannot be shown, odd own jobs."""

from __future__ import annotations

import threading
from typing import Any

from rq import Retry, get_current_job

from queueops import Discard, Fail, Postpone
from tests.rq.jobs import CALLS

LONE = "\ud800"
HUGE = 5_000_000


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class NotAText(Exception):
    def __str__(self) -> str:
        return 7  # type: ignore[return-value]


class LeavesInText(Exception):
    def __str__(self) -> str:
        raise SystemExit("left while it was shown")


class EvilText(str):
    def __format__(self, spec: str) -> str:
        raise RuntimeError("not formatted")

    def __getitem__(self, part: Any) -> str:
        raise RuntimeError("not cut")

    def encode(self, *args: Any) -> bytes:
        raise RuntimeError("not encoded")


class EvilTextError(Exception):
    def __str__(self) -> str:
        return EvilText("evil")


class NoNotes(Exception):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise SystemExit("no notes")


class Nameless(type):
    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no module")


class NamelessError(Exception, metaclass=Nameless):
    pass


class EndlessPostpone(Postpone):
    def __init__(self) -> None:
        Exception.__init__(self)


class TextlessFail(Fail):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class TextlessDiscard(Discard):
    def __init__(self) -> None:
        super().__init__()
        self.reason = NoText()  # type: ignore[assignment]


ERRORS = {
    "lone": lambda: ValueError(LONE),
    "no text": NoText,
    "not a text": NotAText,
    "leaves in text": LeavesInText,
    "evil text": EvilTextError,
    "no notes": NoNotes,
    "nameless": NamelessError,
    "group": lambda: ExceptionGroup(LONE, [NoText(), ValueError(LONE)]),
    "fail": lambda: Fail(LONE),
    "textless fail": TextlessFail,
    "huge": lambda: ValueError("x" * HUGE),
    "system exit": lambda: SystemExit(LONE),
    "interrupt": lambda: KeyboardInterrupt(LONE),
    "endless postpone": EndlessPostpone,
    "textless discard": TextlessDiscard,
}


def raises(name: str) -> None:
    CALLS.append(name)
    get_current_job().connection.rpush("tests:runs", name)
    raise ERRORS[name]()


def discards() -> None:
    raise Discard(LONE)


def postpones() -> None:
    raise Postpone(60, LONE)


class NoPickle:
    def __reduce__(self) -> Any:
        raise SystemExit("not pickled")


def returns(what: str) -> Any:
    get_current_job().connection.rpush("tests:runs", what)
    return {"lock": threading.Lock(), "raises": NoPickle(), "lone": LONE}[what] if what != "retry" else OddRetry()


class OddRetry(Retry):
    def __init__(self) -> None:
        super().__init__(max=1)
        self.reason = NoPickle()


def changes(name: str, value: str, fail: bool) -> None:
    """Something of its own job that cannot be saved."""
    job = get_current_job()
    job.connection.rpush("tests:runs", name)
    setattr(job, name, {"lone": LONE, "object": object(), "meta": {"lock": threading.Lock()}}[value])
    if fail:
        raise ValueError("after the change")


def handler(job: Any, *exc_info: Any) -> bool:
    raise RuntimeError("the exception handler failed")


def callback(job: Any, connection: Any, *exc_info: Any) -> None:
    raise NoText
