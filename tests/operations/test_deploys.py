"""Deploys are marked: by a command, and by the first worker of a release."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dashboard.selectors.marks import marks
from queueops.conf import conf
from queueops.models import Intervention
from queueops.operations.deploys import mark_deploy, note_releases
from queueops.operations.errors import OperationError
from queueops.rdb.client import default_server

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_leaves_a_mark(redis: Any, capsys: Any) -> None:
    call_command("queueops", "mark-deploy", "shop 2.4\n(abc123)")
    assert "marked: shop 2.4 (abc123)" in capsys.readouterr().out
    row = Intervention.objects.get()
    assert (row.verb, row.target, row.state) == ("deploy", "shop 2.4 (abc123)", "done") and row.actor
    at = int(row.at.timestamp())
    for queue in (None, "mail"):
        (mark,) = marks(queue, at - 60, at + 60)
        assert (mark.verb, mark.target) == ("deploy", "shop 2.4 (abc123)")


@pytest.mark.parametrize("text", ["", "  \n "])
def test_without_a_text_nothing_is_marked(redis: Any, text: str) -> None:
    with pytest.raises(OperationError, match="Say what was deployed"):
        mark_deploy(text, actor="ann")
    with pytest.raises((CommandError, SystemExit)):
        call_command("queueops", "mark-deploy", text)
    assert not Intervention.objects.filter(state="done").exists()


def test_a_release_is_marked_once_at_the_time_of_its_first_worker(redis: Any) -> None:
    now = redis.time()[0]
    releases = {"2026-12-01": (now - 600) * 1e6, "old": (now - 90_000) * 1e6, b"bad\xff\x00": (now - 30) * 1e6}
    redis.zadd(conf.keys.static("releases"), releases)
    assert [note_releases(default_server()) for _ in range(2)] == [2, 0]
    found = {row.target: row.at.timestamp() for row in Intervention.objects.all()}
    assert found["release 2026-12-01"] == pytest.approx(now - 600, abs=1) and len(found) == 2
