"""QUEUEOPS: defaults, checks, and messages that say what to write."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from queueops.conf import OPTIONS, conf


def test_defaults(settings: Any) -> None:
    settings.QUEUEOPS = {}
    assert conf.PREFIX == "qo:"
    assert conf.RELEASE is None
    assert (conf.LEASE, conf.POLL) == (30.0, 0.8)
    assert conf.QUARANTINE == {"after": 3, "crashes": 2}
    assert conf.max_age("anything") == 60
    assert conf.keys.static("leases") == "qo:leases"


def test_what_is_set_is_used_at_once(settings: Any) -> None:
    assert conf.PREFIX == "qo:"
    settings.QUEUEOPS = {"PREFIX": "mine:", "QUARANTINE": {"crashes": 1}, "QUEUES": {"a/b": {"max_age": 5}, "": {}}}
    assert conf.keys.static("leases") == "mine:leases"
    assert conf.QUARANTINE == {"after": 3, "crashes": 1}
    assert (conf.max_age("a/b"), conf.max_age("")) == (5.0, 60.0)


def test_without_the_setting(settings: Any) -> None:
    del settings.QUEUEOPS
    assert conf.LEASE == 30.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"LEASES": 3}, r"no option 'LEASES': did you mean 'LEASE'\?"),
        ({"XYZ": 3}, "no option 'XYZ': known are PREFIX"),
        ({"LEASE": "30"}, r"QUEUEOPS\['LEASE'\] must be a number of seconds from 1 to 86400; it is '30'"),
        ({"LEASE": True}, "must be a number"),
        ({"LEASE": float("nan")}, "must be a number"),
        ({"LEASE": 0}, "must be from 1 to 86400 seconds"),
        ({"POLL": 0}, "must be from 0.05"),
        ({"PREFIX": "rq:"}, 'not starting with "rq:"'),
        ({"PREFIX": ""}, "must be 1 to 50"),
        ({"RELEASE": 7}, "must be None or a printable text"),
        ({"QUARANTINE": {"afterwards": 1}}, "unknown keys afterwards; known are after, crashes"),
        ({"QUARANTINE": {"after": 0}}, "'after' must be a whole number of at least 1"),
        ({"QUARANTINE": 3}, "must be a dict such as"),
        ({"QUEUES": {"a": {"maxage": 1}}}, "'a' has unknown keys maxage; known is max_age"),
        ({"QUEUES": {"a": {"max_age": "1"}}}, "of 'a': max_age must be a number"),
        ({"QUEUES": ["a"]}, "must be a dict such as"),
        ({"CONTROLS": {"f": "lock"}}, "must be a dict such as"),
        ({"CHANGELOG_LENGTH": 1.5}, "must be a whole number from 0"),
        ({"LOG_URL": 7}, "template of an http address"),
        ({"LOG_URL": "javascript:alert({job_id})"}, "template of an http address"),
        ({"LOG_URL": "https://{job_id}.example/"}, "host may not come from a job"),
        ({"LOG_URL": "https://logs/"}, "with {job_id} and of function, job_id, queue, worker only"),
        ({"LOG_URL": "https://logs/{job_id}/{user}"}, "with {job_id} and of"),
        ({"LOG_URL": "https://logs/{job_id}/{"}, "with {job_id} and of"),
    ],
)
def test_what_is_wrong_is_said(settings: Any, given: dict[str, Any], words: str) -> None:
    settings.QUEUEOPS = given
    with pytest.raises(ImproperlyConfigured, match=words):
        for name in OPTIONS:
            getattr(conf, name)
    found = [str(message) for message in run_checks(tags=["queueops"])]
    assert len(found) == 1
    assert "queueops.E001" in found[0]


def test_an_unknown_name_in_code_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no setting NOPE"):
        _ = conf.NOPE


def test_every_option_is_annotated_and_explained() -> None:
    annotated = {name for name in type(conf).__annotations__ if name.isupper()}
    assert annotated == set(OPTIONS)
    assert all(option.help for option in OPTIONS.values())


def test_the_address_of_log_lines_is_quoted(settings: Any) -> None:
    assert conf.log_url(job_id="a") == ""
    settings.QUEUEOPS = {"LOG_URL": "https://logs/q/{job_id}?f={function}"}
    assert (
        conf.log_url(job_id="a/{function}&b", function="<é>") == "https://logs/q/a%2F%7Bfunction%7D%26b?f=%3C%C3%A9%3E"
    )
