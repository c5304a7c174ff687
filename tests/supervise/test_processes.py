"""The supervisor, with small real children."""

from __future__ import annotations

import signal

import psutil
import pytest

from tests.supervise.family import gone, supervisor

IDLE = "import signal; signal.pause()"
STUBBORN = "import signal; signal.signal(15, signal.SIG_IGN); print('ready'); [signal.pause() for _ in range(9)]"
COUNTS = """
import signal
def told(*args): print('told'); told.times += 1; told.times > 1 and exit(0)
told.times = 0
signal.signal(15, told)
print('ready')
while True: signal.pause()
"""


def test_lines_carry_the_name_of_their_process() -> None:
    running = supervisor("""family.start(child("left", "print('one'); print('two')", restart="never"))""")
    assert running.end(signal.SIGCONT) == 0
    assert running.lines == ["left     | one", "left     | two"]


def test_output_without_an_end_of_line_and_with_broken_bytes_is_shown() -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\\\xff half')"
    running = supervisor(f"""family.start(child("raw", {code!r}.replace('\\\\\\\\', '\\\\'), restart="never"))""")
    assert running.end(signal.SIGCONT) == 0
    assert running.lines == ["raw      | \ufffd half"]


def test_last_words_are_shown_though_a_grandchild_holds_the_pipe() -> None:
    code = "import os, time; print('half', end=''); os.fork() or time.sleep(3)"
    running = supervisor(f"""family.start(child("raw", {code!r}, restart="never"))""")
    assert running.end(signal.SIGCONT) == 0
    assert running.lines == ["raw      | half"]


def test_a_child_that_dies_is_restarted_later_each_time_and_said_so() -> None:
    running = supervisor("""family.start(child("weak", "exit(3)"))""")
    running.expect(r"weak ended with status 3; it is started again in 0\.5 s")
    running.expect(r"started again in 1 s")
    assert running.end() == 0


def test_a_killed_child_is_named_with_its_signal() -> None:
    running = supervisor(f"""print("pid", family.start(child("idle", {IDLE!r})).process.pid, flush=True)""")
    pid = int(running.expect(r"pid (\d+)")[1])
    psutil.Process(pid).kill()
    running.expect(r"idle was ended by signal SIGKILL; it is started again")
    assert running.end() == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_every_child(how: signal.Signals) -> None:
    running = supervisor(f"""
        for n in range(3):
            family.start(child(f"c{{n}}", {IDLE!r}))
        print("started", flush=True)
    """)
    running.expect("started")
    children = running.family()
    assert len(children) == 3
    assert running.end(how) == 0
    gone(children)


def test_the_second_request_reaches_the_children_too() -> None:
    running = supervisor(f"""family.start(child("busy", {COUNTS!r}))""")
    running.expect("ready")
    running.process.send_signal(signal.SIGTERM)
    running.expect("told")
    running.expect("waiting for busy to finish")
    assert running.end() == 0
    assert running.text.count("told") == 2


def test_the_third_request_kills() -> None:
    running = supervisor(f"""family.start(child("deaf", {STUBBORN!r}))""")
    running.expect("ready")
    children = running.family()
    running.process.send_signal(signal.SIGTERM)
    running.expect("waiting for deaf")
    running.process.send_signal(signal.SIGTERM)
    running.expect("once more kills what is left")
    assert running.end() == 0
    gone(children)


def test_the_last_child_is_stopped_after_all_others() -> None:
    last = "import signal; signal.signal(15, lambda *a: (print('last told'), exit(0))); print('up'); signal.pause()"
    slow = (
        "import signal, time; signal.signal(15, lambda *a: (time.sleep(0.5), print('slow ended'), exit(0)));"
        "print('up'); signal.pause()"
    )
    running = supervisor(f"""
        family.start(child("store", {last!r}, last=True))
        family.start(child("slow", {slow!r}))
    """)
    running.expect(r"(?s)\| up.*\| up")
    assert running.end() == 0
    assert running.text.index("slow ended") < running.text.index("last told")


def test_children_die_with_a_killed_supervisor() -> None:
    running = supervisor(f"""
        family.start(child("deaf", {STUBBORN!r}))
        family.start(child("idle", {IDLE!r}))
    """)
    running.expect("ready")
    children = running.family()
    assert len(children) == 2
    running.end(signal.SIGKILL)
    gone(children)


def test_children_that_may_end_are_not_restarted_and_their_failure_is_ours() -> None:
    done = supervisor("""family.start(child("done", "pass", restart="failure"))""")
    assert done.end(signal.SIGCONT) == 0
    failed = supervisor("""family.start(child("failed", "exit(4)", restart="never"))""")
    assert failed.end(signal.SIGCONT) == 1


def test_an_error_of_the_supervisor_leaves_nothing_running() -> None:
    running = supervisor(f"""
        family.start(child("idle", {IDLE!r}))
        print("pids", *[c.process.pid for c in family.children], flush=True)
        raise RuntimeError("on purpose")
    """)
    pid = int(running.expect(r"pids (\d+)")[1])
    assert running.end(signal.SIGCONT) == 1
    assert not psutil.pid_exists(pid)
