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


def pages() -> str:
    return "\n".join(f"{message.msg} {message.hint}" for message in run_checks(tags=["queueops_pages"]))


def test_what_the_pages_need(settings: Any) -> None:
    assert pages() == ""
    settings.ROOT_URLCONF = "django.conf.urls.i18n"
    told = pages()
    for name in ("dashboard:overview", "login", "logout", "admin:index"):
        assert repr(name) in told
    assert "set_language" not in told
    settings.LOGIN_URL = "/accounts/login/"
    assert "LOGIN_URL" in pages()
    settings.LOGIN_URL = "https://sso.example/login"  # somewhere else: not ours to judge
    assert "LOGIN_URL" not in pages()


def test_what_the_settings_of_the_pages_lack(settings: Any) -> None:
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": []}]
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "Htmx" not in name and "Locale" not in name]
    told = pages()
    assert "templates of the pages are not found" in told
    assert "HtmxMiddleware" in told and "LocaleMiddleware" in told


def test_a_project_without_the_pages_needs_nothing_of_them(settings: Any) -> None:
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if not name.startswith("dashboard")]
    settings.MIDDLEWARE = []
    assert pages() == ""
