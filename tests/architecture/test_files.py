"""Rules of the house that can be read off the files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

LONGEST = 400
"""Lines of a file."""

LUA = ROOT / "queueops/rdb/lua"


def files(*patterns: str) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(path for path in ROOT.glob(pattern) if "__pycache__" not in path.parts)


def findings(pattern: str, paths: Iterator[Path], flags: int = 0) -> list[str]:
    """Every line that matches, as path:line: text."""
    found = []
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(pattern, line, flags):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


def python() -> Iterator[Path]:
    return files("manage.py", "queueops/**/*.py", "dashboard/**/*.py")


def test_no_file_is_too_long() -> None:
    texts = files("queueops/**/*.py", "dashboard/**/*.py", "tests/**/*.py", "bench/**/*.py", "queueops/**/*.lua")
    ours = [*texts, *files("templates/**/*.html", "static/dashboard/*.js", "static/dashboard/*.css")]
    long = {str(p.relative_to(ROOT)): n for p in ours if (n := len(p.read_text().splitlines())) > LONGEST}
    # one stylesheet is one concern: its tokens and components are read side by side
    long = {path: lines for path, lines in long.items() if not path.endswith(".css")}
    assert not long, f"split these, by concern: {long}"


def test_templates_have_no_inline_style_or_script() -> None:
    templates = list(files("templates/**/*.html", "dashboard/templates/**/*.html"))
    inline = r"<style\b|\sstyle\s*=|\son[a-z]+\s*=\s*[\"']|javascript:|hx-on|<script(?![^>]*\bsrc=)"
    # data for a script is not a script
    found = [line for line in findings(inline, iter(templates), re.IGNORECASE) if "application/json" not in line]
    assert not found, "the policy of the pages forbids these:\n" + "\n".join(found)


def test_templates_load_nothing_from_elsewhere() -> None:
    found = findings(r"(src|href)\s*=\s*[\"'](https?:)?//", files("templates/**/*.html"))
    assert not found, "vendor it under static/:\n" + "\n".join(found)


def test_nothing_marks_text_as_safe_without_a_reason() -> None:
    found = findings(r"\|\s*safe\b|autoescape off", files("templates/**/*.html"))
    assert not found, "names and text are hostile:\n" + "\n".join(found)


def test_redis_keys_are_built_in_one_file() -> None:
    """No literal that looks like a key of ours or of RQ, in Python outside keys.py or in Lua."""
    in_python = []
    for path in python():
        if path.name == "keys.py" or "management" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if "\n" not in text and re.match(r"(qo:|rq:)\S", text):
                in_python.append(f"{path.relative_to(ROOT)}:{node.lineno}: {text!r}")
    in_lua = findings(r"""["'](qo:|rq:)""", files("queueops/**/*.lua"))
    assert not in_python + in_lua, "build them in queueops/rdb/keys.py:\n" + "\n".join(in_python + in_lua)


def scripts() -> list[str]:
    return sorted(path.stem for path in LUA.glob("*.lua"))


@pytest.mark.parametrize("name", scripts())
def test_every_script_has_a_test_of_its_own_name(name: str) -> None:
    assert (ROOT / f"tests/scripts/test_{name}.py").is_file()


@pytest.mark.parametrize("name", scripts())
def test_every_script_says_what_it_is(name: str) -> None:
    assert (LUA / f"{name}.lua").read_text().startswith("--"), "begin with a comment: input, answers, events"


def test_nothing_reads_without_a_bound() -> None:
    commands = r"""['"](KEYS|SMEMBERS)['"]|\.smembers\(|\.keys\(\s*['"]|(lrange|zrange)\([^()]*,\s*0,\s*-1\s*[,)]"""
    found = findings(commands, python(), re.IGNORECASE)
    found += findings(r"""call\(\s*['"](KEYS|SMEMBERS)['"]""", files("queueops/**/*.lua"), re.IGNORECASE)
    assert not found, "its cost grows with the backlog; read one page:\n" + "\n".join(found)


def test_only_one_place_subclasses_rq() -> None:
    found = []
    for path in python():
        if path.is_relative_to(ROOT / "queueops/rq"):
            continue
        tree = ast.parse(path.read_text())
        ours = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("rq", "django_rq")
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id in ours for b in node.bases):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}")
    assert not found, "subclass RQ in queueops/rq only:\n" + "\n".join(found)


def test_the_web_never_unpickles() -> None:
    found = findings(
        r"\bpickle\b|Job\.fetch|\.fetch_job|fetch_many", files("dashboard/**/*.py", "queueops/telemetry/*.py")
    )
    assert not found, "Job.restore unpickles meta; read plain fields with HMGET:\n" + "\n".join(found)


def test_no_test_is_left_out() -> None:
    marks = findings(r"pytest\.mark\.(skip|xfail)|@unittest\.skip|# TODO|# FIXME", files("tests/**/*.py"))
    marks = [line for line in marks if not line.startswith("tests/architecture/")]
    marks += findings(r"#\s*(TODO|FIXME|XXX)\b", python())
    assert not marks, "\n".join(marks)
