"""The frame of the verbs: listing, JSON, failures, durations."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError
from redis.exceptions import ConnectionError, ResponseError

from queueops.management import registry
from queueops.management.base import BaseVerb, Progress, VerbError, duration, one_line, positive
from queueops.management.logs import OneLine
from tests.support import ROOT

# fmt: off
VERBS = [
    "demo", "discard", "doctor", "explain", "isolate", "limit", "locks", "mark-deploy", "monitor", "pause",
    "quarantine", "quiet", "release", "replay", "requeue", "resume", "run-now", "status", "stop", "unisolate",
    "unquiet", "up", "worker",
]
# fmt: on


def test_all_verbs_are_there() -> None:
    verbs = registry.load()
    assert sorted(verbs) == VERBS
    assert not [name for name, verb in verbs.items() if isinstance(verb, registry.BrokenVerb)]


def test_help_lists_every_verb_on_one_line() -> None:
    answer = subprocess.run(
        [sys.executable, "manage.py", "queueops", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = answer.stdout.splitlines()
    for name, verb in registry.load().items():
        assert [line.split() for line in lines if line.split()[:1] == [name]] == [[name, *verb.help.split()]]


class Echo(BaseVerb):
    name = "echo"
    help = "100% of what it is given"
    changes = True
    error: Exception | None = None

    def handle(self, options: Namespace) -> dict[str, Any]:
        if self.error:
            raise self.error
        return {"text": "キュー\x1b[31m", "reason": options.reason, "list": [1, None], "map": {"a": 1}}


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Echo:
    verb = Echo()
    monkeypatch.setattr(registry, "load", lambda: {"echo": verb})
    return verb


def test_json_is_one_object(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("queueops", "echo", "--json", "--reason", "a test")
    out = capsys.readouterr().out
    assert json.loads(out) == {"text": "キュー\x1b[31m", "reason": "a test", "list": [1, None], "map": {"a": 1}}
    assert out.count("\n") == 1


def test_text_cannot_write_into_the_terminal(echo: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("queueops", "echo")
    assert capsys.readouterr().out == "text: キュー [31m\nreason: \nlist: 1, -\nmap: a 1\n"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (VerbError("no such\nqueue"), 1, "queueops: no such queue"),
        (VerbError("nothing found", code=5), 5, "queueops: nothing found"),
        (ConnectionError("Error 111"), 3, "queueops: Redis does not answer: Error 111"),
        (ResponseError("OOM"), 3, "queueops: Redis answered with an error: OOM"),
        (OperationalError("no such table"), 4, "queueops: the database answered with an error: no such table"),
    ],
)
def test_a_failure_is_one_line_and_a_status(
    echo: Echo, capsys: pytest.CaptureFixture[str], error: Exception, code: int, words: str
) -> None:
    echo.error = error
    with pytest.raises(SystemExit) as caught:
        call_command("queueops", "echo", "--json")
    assert caught.value.code == code
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"error": printed.err.removeprefix("queueops: ").rstrip("\n")}
    assert printed.err.startswith(words)
    assert printed.err.count("\n") == 1


def test_a_broken_verb_leaves_the_others_alone() -> None:
    verb = registry.BrokenVerb("odd", ImportError("no module\nof that name"))
    assert verb.help == "cannot be loaded: ImportError: no module of that name"
    with pytest.raises(VerbError, match="the verb odd cannot be loaded"):
        verb.handle(Namespace())


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5", 1.5), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("1d", 86400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "5 m", "m", "1e9", "nan", "inf", "100000d", "５m", "30m2"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        duration(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "٣", "9999999999", "one"])
def test_no_positive_numbers(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        positive(text)


def test_one_line_is_short_and_plain() -> None:
    assert one_line("a\n\tb\x1b\x00c\u202e") == "a b c"
    assert len(one_line("x" * 10_000)) == 2000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        with Progress("replaying", 3, stream, enabled=True) as progress:
            progress.advance()
            progress(2)
    assert pipe.getvalue() == ""
    assert terminal.getvalue() == "\r\x1b[Kreplaying: 1 of 3\r\x1b[K"


def test_a_log_record_is_one_line() -> None:
    import logging

    line = OneLine()
    message = 'job 1: exception raised\nTraceback (most recent call last):\n  File "x"\nValueError: no'
    record = logging.LogRecord("rq", logging.ERROR, "", 0, message, None, None)
    assert line.format(record).endswith("ERROR job 1: exception raised: ValueError: no")
    try:
        raise KeyError("gone")
    except KeyError:
        record = logging.LogRecord("rq", logging.ERROR, "", 0, "it %s", ("failed",), sys.exc_info())
    assert line.format(record).endswith("ERROR it failed: KeyError('gone')")
    assert "Traceback" not in line.format(record)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("pause", "--queue", "default", "--for", "30q"), "30q"),
        (("pause", "--queue", "default", "--nope"), "--nope"),
        (("pause",), "--queue"),
        (("paus", "--queue", "default"), "paus"),
    ],
)
def test_wrong_options_are_told_as_json_too(child_env: dict[str, str], args: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "manage.py", "queueops", *args, "--json"]
    answer = subprocess.run(command, cwd=ROOT, env=child_env, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 2
    assert said in json.loads(answer.stdout)["error"] and "usage:" in answer.stderr


def test_the_help_of_a_change_says_that_a_reason_is_required() -> None:
    for name, verb in registry.load().items():
        parser = ArgumentParser(prog=name)
        verb.prepare(parser)
        assert ("why (required)" in " ".join(parser.format_help().split())) == verb.changes
