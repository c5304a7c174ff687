"""Names and addresses in the settings that nothing answers to."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from queueops import WithoutOverlapping, checks
from queueops.operations import UnknownName, pause
from queueops.rdb import client
from tests.support import ROOT


class Mail:
    """Its method is a function that jobs may name."""

    def deliver(self) -> None: ...


def ids(found: list[Any]) -> list[str]:
    return [message.id for message in found]


def test_a_wrong_scheme_is_named_with_its_queue(settings: Any) -> None:
    settings.RQ_QUEUES = {"default": {"URL": "redi://localhost:6379/0"}}
    (found,) = [message for message in checks.check_queues(None) if message.id == "queueops.E005"]
    assert "'default'" in found.msg and "redis://" in found.hint
    with pytest.raises(ImproperlyConfigured, match="default"):
        client.servers()


@pytest.mark.parametrize("url", ["redis://:se/cret@localhost:6379", "redis://localhost:port/0", "localhost:6379"])
def test_an_address_that_cannot_be_read_is_told_without_its_password(settings: Any, url: str) -> None:
    settings.RQ_QUEUES = {"default": {"URL": url}}
    (found,) = [message for message in checks.check_queues(None) if message.id == "queueops.E005"]
    assert "'default'" in found.msg and "cret" not in str(found)
    with pytest.raises(ImproperlyConfigured, match="default") as error:
        client.servers()
    assert "'se'" not in str(error.value)


@pytest.mark.parametrize(
    ("target", "id_", "hint"),
    [
        ("tests.rq.jobs.ad", "queueops.W009", "add"),
        ("queue:defualt", "queueops.W008", "default"),
        ("tests.rq.jobs.add", None, ""),
        ("no.such.module.f", None, ""),
        ("tests.rq.jbos.add", "queueops.W009", "jobs"),
        ("tests.rq.jobs.Nothing.add", "queueops.W009", ""),
        ("tests.project.test_named_checks.Mail.delver", "queueops.W009", "deliver"),
        ("tests.project.test_named_checks.Mail.deliver", None, ""),
        ("queue:default", None, ""),
    ],
)
def test_controls_of_misspelt_names_are_told(settings: Any, target: str, id_: str | None, hint: str) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CONTROLS": {target: [WithoutOverlapping("x")]}}
    found = checks.check_queues(None)
    assert ids(found) == ([id_] if id_ else [])
    assert not id_ or hint in found[0].hint


SOURCE = """
from os.path import join as joined
try:
    import fast as engine
except ImportError:
    engine = None
async def send(text, timeout=3):
    inner = timeout
    if text == inner:  # def commented
        return dict(keyword=1)
class Mail:
    def deliver(self): pass
first, second = 1, 2
"""


@pytest.fixture
def unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that can be imported and is not."""
    (tmp_path / "qo_unloaded.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("name", ["send", "joined", "engine", "Mail.deliver", "Mail", "second"])
def test_what_a_module_has_is_known_without_importing_it(redis: Any, db: None, unloaded: None, name: str) -> None:
    assert pause("function", f"qo_unloaded.{name}", actor="ann", reason="why")
    assert "qo_unloaded" not in sys.modules


@pytest.mark.parametrize(
    "name", ["sen", "end", "timeout", "inner", "text", "keyword", "commented", "deliver", "Mail.d"]
)
def test_what_a_module_only_mentions_is_no_function(redis: Any, db: None, unloaded: None, name: str) -> None:
    with pytest.raises(UnknownName):
        pause("function", f"qo_unloaded.{name}", actor="ann", reason="why")


@pytest.mark.parametrize("name", ["tests.rq.jobs.wait_for_eve", "tests.rq.jobs.ait_for_ever", "tests.rq.jobs.wait"])
def test_a_part_of_a_functions_name_is_no_function(redis: Any, db: None, name: str) -> None:
    with pytest.raises(UnknownName):
        pause("function", name, actor="ann", reason="why")


def test_the_snippets_of_adopting_can_stand_below_one_another() -> None:
    text = (ROOT / "docs/adopting.md").read_text()
    blocks = [dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", text, re.M | re.S)]
    found: dict[str, Any] = {"INSTALLED_APPS": []}
    for block in blocks:
        if "QUEUEOPS[" in block or "QUEUEOPS =" in block:
            exec(block, found)  # our own document
    assert set(found["QUEUEOPS"]) == {"QUEUES", "CONTROLS"}


def test_every_variable_of_the_environment_is_in_the_documents() -> None:
    source = "".join((ROOT / "queueops/project" / name).read_text() for name in ("settings.py", "environ.py"))
    names = set(re.findall(r'(?:environ\.get\(|flag\(|words\()"([A-Z_]+)"', source))
    text = (ROOT / "docs/deployment.md").read_text()
    assert {"QUEUEOPS_STATE_DIR", "REDIS_URL"} <= names
    assert not [name for name in names if f"`{name}`" not in text]
