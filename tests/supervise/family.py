"""Runs a supervisor, or the whole of `queueops up`, as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Mapping

import psutil

from tests.support import ROOT, eventually


class Running:
    """A process whose lines are read as they come."""

    def __init__(self, command: list[str], env: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def expect(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        """The first match of ``pattern`` in what it has printed; waits for it."""
        return eventually(lambda: re.search(pattern, self.text), seconds, f"{pattern!r} in:\n{self.text}")

    def family(self) -> list[psutil.Process]:
        """Its children, and theirs."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, how: signal.Signals = signal.SIGTERM, seconds: float = 60) -> int:
        """Send a signal; its exit status once it has ended and all its output was read."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(seconds)
        self._reader.join(seconds)
        return status


def supervisor(body: str) -> Running:
    """Run Python code that has ``family`` (a Supervisor) and ``child(name, code, **options)``."""
    script = f"""
import sys
from queueops.supervise.processes import Child, Supervisor

def child(name, code, **options):
    return Child(name, [sys.executable, "-c", code], **options)

with Supervisor() as family:
{textwrap.indent(textwrap.dedent(body), "    ")}
    status = family.run()
sys.exit(status)
"""
    return Running([sys.executable, "-c", script])


def gone(processes: list[psutil.Process], seconds: float = 60) -> None:
    """Fail unless all of these processes have ended."""
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    names = [process.cmdline() for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    for process in alive:
        process.kill()
    assert not names, f"left running: {names}"
