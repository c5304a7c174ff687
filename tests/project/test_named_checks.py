"""Names and addresses in the settings that nothing answers to."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from queueops import WithoutOverlapping, checks
from queueops.operations import UnknownName, pause
from queueops.rdb import client


def ids(found: list[Any]) -> list[str]:
    return [message.id for message in found]


def test_a_wrong_scheme_is_named_with_its_queue(settings: Any) -> None:
    settings.RQ_QUEUES = {"default": {"URL": "redi://localhost:6379/0"}}
    (found,) = [message for message in checks.check_queues(None) if message.id == "queueops.E005"]
    assert "'default'" in found.msg and "redis://" in found.hint
    with pytest.raises(ImproperlyConfigured, match="default"):
        client.servers()


@pytest.mark.parametrize(
    ("target", "id_", "hint"),
    [
        ("tests.rq.jobs.ad", "queueops.W009", "add"),
        ("queue:defualt", "queueops.W008", "default"),
        ("tests.rq.jobs.add", None, ""),
        ("no.such.module.f", None, ""),
        ("queue:default", None, ""),
    ],
)
def test_controls_of_misspelt_names_are_told(settings: Any, target: str, id_: str | None, hint: str) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "CONTROLS": {target: [WithoutOverlapping("x")]}}
    found = checks.check_queues(None)
    assert ids(found) == ([id_] if id_ else [])
    assert not id_ or hint in found[0].hint


@pytest.mark.parametrize("name", ["tests.rq.jobs.wait_for_eve", "tests.rq.jobs.ait_for_ever", "tests.rq.jobs.wait"])
def test_a_part_of_a_functions_name_is_no_function(redis: Any, db: None, name: str) -> None:
    with pytest.raises(UnknownName):
        pause("function", name, actor="ann", reason="why")
