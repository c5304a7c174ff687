"""Lean scripts do what the written ones say: only unreachable functions go, only functions are renamed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queueops.rdb import scripts
from queueops.rdb.lean import lean

NAMES = sorted(path.stem for path in (Path(scripts.__file__).parent / "lua").glob("*.lua"))

SOURCE = """
local a = redis.call('TIME') -- used once
local function used(x) return 'used(' .. x .. ')' end
local function unused(x)
  return used(x)
end
local function room(x) return x end
local function taken(x)
  local function inner() return used(x) end
  return inner()
end
local T = {}
T.one = { room = function(taken) return taken end }
return used('x')..used(T.one.room(room(a[1])))
"""


def test_functions_that_are_not_used_go():
    assert "unused" not in lean(SOURCE)


def test_comments_go_and_strings_stay():
    assert "used once" not in lean(SOURCE)
    assert "'used(' .. x .. ')'" in lean(SOURCE)


def test_functions_move_but_not_fields_of_the_same_name():
    assert "return Q[1]('x')..Q[1](T.one.room(Q[2](a[1])))" in lean(SOURCE)
    assert "{ room = function(" in lean(SOURCE)


def test_a_name_that_is_a_parameter_elsewhere_stays_a_local():
    assert "local function taken" not in lean("local function taken(x) return x end\nreturn taken(1)\n")
    assert "local function taken" in lean(SOURCE)


def test_the_answer_is_the_same(redis):
    source = (
        "local function twice(x) return x .. x end\nlocal function dead() return 1 end\nreturn twice(ARGV[1])..'!'\n"
    )
    assert redis.eval(lean(source), 0, "ab") == redis.eval(source, 0, "ab") == b"abab!"


@pytest.mark.parametrize("name", NAMES)
def test_every_script_compiles_and_misses_nothing(redis, name):
    source = lean(scripts.resolve(name))
    redis.script_load(scripts.script(name).source)
    defined = set(re.findall(r"^local function (\w+)\(", scripts.resolve(name), re.MULTILINE))
    kept = set(re.findall(r"^local function (\w+)\(", source, re.MULTILINE))
    called = set(re.findall(r"(?<![\w:'])(?<!(?<!\.)\.)(\w+)\(", source))
    assert called & defined <= kept
