"""Starts child processes, shows what they print, restarts those that die, and stops them all.

One thread and one selector: it wakes for output, for a signal, for a child's end (SIGCHLD) and for a due time.

Stopping goes in steps. The first request sends SIGTERM (a worker finishes its job); the second sends SIGTERM again (a
worker puts its job back); the third kills. Children with ``last`` (the Redis server) are stopped after all others.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from queueops.supervise.family import tie_to_parent
from queueops.supervise.output import Lines, Printer

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
STEADY = 30.0
"""Seconds of life after which an end is a new accident, not the same one again."""
GRACE = 60.0
"""Seconds that the first request waits before the second follows by itself."""
SAME = 1.0
"""Seconds after the first request in which another one is taken for the same."""
LAST_CALL = 10.0
"""Seconds between the second request and SIGKILL, and those that a ``last`` child gets."""


@dataclass
class Child:
    """One child process: how to start it, and how it is doing."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] | None = None
    restart: Literal["always", "failure", "never"] = "always"
    last: bool = False
    orphaned: signal.Signals = signal.SIGKILL
    """The signal it gets when its parent dies without stopping it."""
    fds: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    lines: Lines | None = field(default=None, repr=False)
    ended: int | None = None
    started_at: float = 0.0
    delay: float = FIRST_DELAY
    due: float | None = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None


class Supervisor:
    """A family of child processes. Use as a context manager: leaving it leaves nothing running."""

    def __init__(self, printer: Printer | None = None, *, grace: float = GRACE) -> None:
        self.printer = printer or Printer()
        self.grace = grace
        self.children: list[Child] = []
        self.requests = 0
        self._first_at = 0.0
        self._asked = 0
        self._last_asked = False
        self._deadlines: list[tuple[float, Callable[[], None]]] = []
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._previous: dict[signal.Signals, object] = {}

    # -- life ----------------------------------------------------------------------------------------------------------
    def __enter__(self) -> Supervisor:
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._wake, selectors.EVENT_READ, self._drain_wake)
        self._old_fd = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._previous[number] = signal.signal(number, self._on_stop)
        self._previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.stop()
            while self._running():
                self._step(None)
        finally:
            for child in self.children:
                if child.alive:
                    self._signal(child, signal.SIGKILL)
            signal.set_wakeup_fd(self._old_fd)
            for number, handler in self._previous.items():
                signal.signal(number, handler)  # type: ignore[arg-type]
            self._selector.close()
            self._wake.close()
            self._waker.close()

    def start(self, child: Child) -> Child:
        """Start a child, to be watched from now on."""
        self.children.append(child)
        self._spawn(child)
        return child

    def run(self) -> int:
        """Watch until all have ended or a stop was asked for and done. The exit status: 0, or 1 after a failure."""
        while self._running() or any(child.due for child in self.children):
            self._step(None)
        return int(any(child.ended for child in self.children) and not self.requests)

    def wait_for(self, fd: int, child: Child, seconds: float) -> bool:
        """Whether ``fd`` becomes readable before ``child`` ends, a stop is asked for, or the time is over."""
        ready: list[bool] = []
        self._selector.register(fd, selectors.EVENT_READ, lambda: ready.append(True))
        end = time.monotonic() + seconds
        try:
            while not ready and child.alive and not self.requests and time.monotonic() < end:
                self._step(end)
        finally:
            self._selector.unregister(fd)
        return bool(ready)

    def poll(self, seconds: float = 0.0) -> None:
        """Handle what has happened, waiting for it at most so long."""
        self._step(time.monotonic() + seconds)

    # -- stopping ------------------------------------------------------------------------------------------------------
    def stop(self) -> None:
        """Ask everything to stop, if that has not been asked yet; returns at once."""
        if not self.requests:
            self.requests = 1
            self._advance()

    def _on_stop(self, number: int, frame: object) -> None:
        # one request often arrives twice: from the group of processes, and handed on by make or a shell
        now = time.monotonic()
        if not self.requests:
            self._first_at = now
        if not self.requests or now - self._first_at > SAME:
            self.requests += 1

    def _advance(self) -> None:
        """Act on requests that were not acted on yet."""
        while self._asked < self.requests:
            self._asked += 1
            for child in self.children:
                child.due = None
            now = time.monotonic()
            if self._asked == 1:
                self._tell_all(signal.SIGTERM)
                self._deadlines = [(now + 1.5, self._tell_waiting), (now + self.grace, self._ask_again)]
            elif self._asked == 2:
                self.printer.say("asked again: running jobs are put back; once more kills what is left")
                self._tell_all(signal.SIGTERM)
                self._deadlines = [(now + LAST_CALL, self._ask_again)]
            else:
                self._tell_all(signal.SIGKILL)
        if self._asked and not any(child.alive for child in self.children if not child.last):
            self._stop_last()

    def _ask_again(self) -> None:
        self.requests += 1

    def _tell_all(self, how: signal.Signals) -> None:
        for child in self.children:
            if child.alive and not child.last:
                self._signal(child, how)

    def _tell_waiting(self) -> None:
        names = [child.name for child in self.children if child.alive and not child.last]
        if names:
            self.printer.say(f"waiting for {', '.join(names)} to finish; once more (Ctrl-C) puts running jobs back")

    def _stop_last(self) -> None:
        if not self._last_asked:
            self._last_asked = True
            self._tell_last(signal.SIGTERM)
            self._deadlines = [(time.monotonic() + LAST_CALL, lambda: self._tell_last(signal.SIGKILL))]

    def _tell_last(self, how: signal.Signals) -> None:
        for child in self.children:
            if child.alive and child.last:
                self._signal(child, how)

    def _signal(self, child: Child, how: signal.Signals) -> None:
        if child.process is not None:
            with contextlib.suppress(ProcessLookupError):
                child.process.send_signal(how)

    # -- the loop ------------------------------------------------------------------------------------------------------
    def _running(self) -> bool:
        return any(child.alive for child in self.children)

    def _step(self, end: float | None) -> None:
        """Wait for the next thing to happen (not beyond ``end``, monotonic seconds), and handle it."""
        self._advance()
        times = [child.due for child in self.children if child.due is not None]
        times += [when for when, _ in self._deadlines] + ([end] if end is not None else [])
        timeout = max(0.0, min(times) - time.monotonic()) if times else None
        for key, _ in self._selector.select(timeout):
            key.data()
        self._reap()
        now = time.monotonic()
        due = [act for when, act in self._deadlines if when <= now]
        self._deadlines = [(when, act) for when, act in self._deadlines if when > now]
        for act in due:
            act()
        for child in self.children:
            if child.due is not None and child.due <= now and not self.requests:
                self._spawn(child)
        self._advance()

    def _drain_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass

    def _spawn(self, child: Child) -> None:
        child.due, child.ended, child.started_at = None, None, time.monotonic()
        child.process = subprocess.Popen(
            list(child.command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**(child.environment if child.environment is not None else os.environ), "PYTHONUNBUFFERED": "1"},
            pass_fds=child.fds,
            process_group=0,  # Ctrl-C of the terminal reaches the supervisor alone, which then asks in order
            preexec_fn=tie_to_parent(child.orphaned),
        )
        if (pipe := child.process.stdout) is not None:
            os.set_blocking(pipe.fileno(), False)
            lines = child.lines = Lines(pipe, child.name, self.printer)
            self._selector.register(pipe, selectors.EVENT_READ, lambda: self._read(lines))

    def _read(self, lines: Lines) -> None:
        if not lines.read():
            self._selector.unregister(lines.pipe)
            lines.pipe.close()

    def _reap(self) -> None:
        for child in self.children:
            if child.alive and child.process is not None and child.process.poll() is not None:
                self._ended(child, child.process.returncode)

    def _ended(self, child: Child, status: int) -> None:
        child.ended = status
        if child.lines is not None:  # its last words come before what is said of its end
            child.lines.finish()
        if self.requests or child.restart == "never" or (child.restart == "failure" and status == 0):
            return
        lived = time.monotonic() - child.started_at
        child.delay = FIRST_DELAY if lived >= STEADY else child.delay
        child.due = time.monotonic() + child.delay
        self.printer.say(f"{child.name} {ending(status)}; it is started again in {child.delay:g} s")
        child.delay = min(child.delay * 2, LONGEST_DELAY)


def ending(status: int) -> str:
    """How a process ended, in words."""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = str(-status)
        return f"was ended by signal {name}"
    return f"ended with status {status}"
