"""The system checks: silent for our own project, and clear for one that lacks something."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from rq import Worker


def found() -> dict[str, str]:
    return {str(message.id): f"{message.msg} {message.hint or ''}" for message in run_checks(tags=["queueops"])}


def test_our_own_project_is_right() -> None:
    assert found() == {}
    assert run_checks() == []


def test_classes_that_are_missing(settings: Any) -> None:
    settings.RQ = {}
    assert "queueops.W001" in found()
    assert '"WORKER_CLASS": "queueops.rq.Worker"' in found()["queueops.W001"]


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("WORKER_CLASS", "rq.Worker", "queueops.W002"),
        ("WORKER_CLASS", Worker, "queueops.W002"),
        ("QUEUE_CLASS", "no.such.module", "queueops.E003"),
    ],
)
def test_classes_that_are_wrong(settings: Any, key: str, value: Any, code: str) -> None:
    settings.RQ = {**settings.RQ, key: value}
    assert list(found()) == [code]
    assert key in found()[code]


def test_a_subclass_of_ours_will_do(settings: Any) -> None:
    from queueops.rq import Worker as Ours

    class Mine(Ours):
        pass

    settings.RQ = {**settings.RQ, "WORKER_CLASS": Mine}
    assert found() == {}


def test_a_queue_with_another_class(settings: Any) -> None:
    queues = {"a": {**settings.RQ_QUEUES["default"], "QUEUE_CLASS": "rq.Queue"}}
    settings.RQ_QUEUES, settings.QUEUEOPS = queues, {}
    assert "RQ_QUEUES['a']['QUEUE_CLASS']" in found()["queueops.W002"]


def test_a_service_level_for_no_queue(settings: Any) -> None:
    settings.QUEUEOPS = {"QUEUES": {"defalt": {"max_age": 1}}}
    assert "'defalt'" in found()["queueops.W004"]


def test_no_queues(settings: Any) -> None:
    settings.RQ_QUEUES = {}
    assert "queueops.W003" in found()


def test_sqlite_for_several_writers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", {})
    assert {"queueops.W005", "queueops.W006"} == set(found())
