"""What children print: whole lines, each with the name of its process before it."""

from __future__ import annotations

import os
import select
import sys
from typing import IO, TextIO

LONGEST_LINE = 8_000
"""Bytes; a longer line is cut into several."""

COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)


class Printer:
    """Writes lines to one stream, with a coloured name before each on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.colour = self.stream.isatty() and "NO_COLOR" not in os.environ
        self.width = 8
        self._names: dict[str, int] = {}
        self.broken = False

    def say(self, text: str) -> None:
        """A line of the supervisor's own."""
        self.line("up", text)

    def line(self, name: str, text: str) -> None:
        self.width = max(self.width, len(name))
        label = f"{name:<{self.width}}"
        if self.colour:
            number = self._names.setdefault(name, len(self._names))
            label = f"\x1b[{COLOURS[number % len(COLOURS)]}m{label}\x1b[0m"
        self.raw(f"{label} | {text}")

    def raw(self, text: str) -> None:
        """A line without a name. A reader that has gone does not stop the work."""
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except (BrokenPipeError, ValueError, OSError):
            self.broken = True


class Lines:
    """Turns the bytes of one child's pipe into lines for the printer."""

    def __init__(self, pipe: IO[bytes], name: str, printer: Printer) -> None:
        self.pipe, self.name, self.printer = pipe, name, printer
        self._rest = b""

    def read(self) -> bool:
        """Read what is there. False at the end of the pipe."""
        try:
            data = os.read(self.pipe.fileno(), 65_536)
        except BlockingIOError:
            return True
        self._rest += data
        *whole, self._rest = self._rest.split(b"\n")
        for line in whole:
            self._show(line)
        if not data or len(self._rest) > LONGEST_LINE:
            self._flush()
        return bool(data)

    def finish(self) -> None:
        """Show all that is there, the last line too, though a child of the child may hold the pipe open."""
        while not self.pipe.closed and select.select([self.pipe], [], [], 0)[0] and self.read():
            pass
        self._flush()

    def _flush(self) -> None:
        if self._rest:
            self._show(self._rest)
        self._rest = b""

    def _show(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        self.printer.line(self.name, text)
