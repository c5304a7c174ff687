"""``import queueops`` is light, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import queueops


def test_importing_the_package_loads_neither_django_nor_rq() -> None:
    code = "import sys, queueops; print([m for m in ('rq', 'django', 'redis') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_declarations_need_no_settings() -> None:
    code = (
        "from queueops import *\n"
        "@controlled(WithoutOverlapping(key='{a}'), WithSemaphore('s', limit=2), RateLimited('r', limit=1, per=1))\n"
        "def f(a): ...\n"
        "print(f.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PATH": ""})
    assert done.stdout.strip() == "f", done.stderr


@pytest.mark.parametrize("name", queueops.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(queueops, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = queueops.Nonsense  # type: ignore[attr-defined]
