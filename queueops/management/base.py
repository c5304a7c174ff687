"""What every verb of ``manage.py queueops`` shares: ``--json``, ``--reason``, the actor, progress, failures.

A verb is a module of ``queueops/management/verbs/`` with one class named ``Verb``::

    class Verb(BaseVerb):
        name = "pause"
        help = "stop starting jobs of a queue or function; running jobs finish"
        changes = True  # adds --reason

        def add_arguments(self, parser):
            parser.add_argument("--queue")

        def handle(self, options):
            if not options.queue:
                raise VerbError("name what to pause: --queue Q, --function F or --all")
            return {"paused": options.queue}

        def render(self, result):
            return f"paused {result['paused']}"
"""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
import time
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any, ClassVar, TextIO

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class VerbError(Exception):
    """A failure to be told in one line on stderr. ``code`` is the exit status (not 0)."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code or 1


def actor() -> str:
    """Who is acting: the name of the operating system's user, or its number where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}"


def duration(text: str) -> float:
    """Argument type: a time such as ``90``, ``30m``, ``1h30m``, in seconds."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        seconds = float(text)
    elif re.fullmatch(r"([0-9]+(\.[0-9]+)?[smhdw])+", text):
        seconds = sum(float(n) * UNITS[u] for n, u in re.findall(r"(\d+(?:\.\d+)?)([smhdw])", text))
    else:
        raise ArgumentTypeError(f"{text!r} is no duration: write 90, 90s, 30m, 2h or 1h30m")
    if not 0 < seconds <= 3650 * 86400:
        raise ArgumentTypeError(f"{text!r}: a duration is more than 0 and at most ten years")
    return seconds


def positive(text: str) -> int:
    """Argument type: a whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def one_line(text: object, limit: int = 2000) -> str:
    """``text`` on one line, without control characters, so that no name can write into the terminal."""
    line = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(line.split())[:limit]


class Progress:
    """A counter on stderr, drawn only on a terminal and at most ten times a second."""

    def __init__(self, label: str, total: int | None, stream: TextIO, enabled: bool) -> None:
        self.label, self.total, self.stream = label, total, stream
        self.enabled = enabled and stream.isatty()
        self.done = 0
        self._drawn = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled and self._drawn:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Tell that ``done`` items are done (of ``total``, when that is known by now)."""
        self.done = done
        self.total = total if total is not None else self.total
        now = time.monotonic()
        if self.enabled and now - self._drawn >= 0.1:
            self._drawn = now
            of = f" of {self.total}" if self.total else ""
            self.stream.write(f"\r\x1b[K{self.label}: {done}{of}")
            self.stream.flush()

    def advance(self, count: int = 1) -> None:
        self(self.done + count)


class BaseVerb:
    """One verb. Subclasses set ``name`` and ``help`` and write ``handle``."""

    name: ClassVar[str] = ""
    help: ClassVar[str] = ""
    changes: ClassVar[bool] = False
    """It changes something: ``--reason`` is offered, and belongs into the intervention."""
    checks: ClassVar[bool] = False
    """Run our system checks first; for long-running verbs."""

    as_json: bool = False
    verbosity: int = 1

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the verb's own options."""

    def handle(self, options: Namespace) -> dict[str, Any] | None:
        """Do it. The answer is printed: as JSON with ``--json``, else by :meth:`render`. None prints nothing."""
        raise NotImplementedError

    def render(self, result: dict[str, Any]) -> str:
        """The answer as text for a person."""
        return "\n".join(f"{key}: {_plain(value)}" for key, value in result.items())

    @property
    def actor(self) -> str:
        """Who is acting, for the intervention."""
        return actor()

    def progress(self, label: str, total: int | None = None) -> Progress:
        """A counter for long work; silent with ``--json`` and without a terminal."""
        return Progress(label, total, sys.stderr, enabled=not self.as_json)

    def say(self, text: str) -> None:
        """A line for a person, while working: on stderr, so that stdout holds only the answer."""
        if not self.as_json:
            print(text, file=sys.stderr, flush=True)

    def prepare(self, parser: ArgumentParser) -> None:
        """Add the options that every verb has, then its own."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object on stdout")
        parser.add_argument("-v", "--verbosity", type=int, choices=range(4), default=SUPPRESS, help=SUPPRESS)
        if self.changes:
            parser.add_argument("--reason", default="", help="why (required); kept with the change and shown beside it")
        self.add_arguments(parser)

    def run(self, options: Namespace) -> None:
        """Do it and print the answer."""
        self.as_json = bool(options.as_json)
        self.verbosity = int(getattr(options, "verbosity", 1))
        result = self.handle(options)
        if result is None:
            return
        text = json.dumps(result, default=str, ensure_ascii=False) if self.as_json else self.render(result)
        if text:
            print(text, flush=True)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(v) for v in value)
    return one_line("-" if value is None else value)
