"""The admin adds pauses, isolations and overrides through the verbs: with a reason, as the user, for a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from queueops.models import Batch, Intervention, Isolation, Override, Pause, QuarantinedJob
from queueops.operations import quarantine, selection
from queueops.rdb import doors as calls
from tests.operations.test_admin import act, user
from tests.scripts.kit import Doors, K, claim


def add(client: Client, model: str, **data: Any) -> Any:
    return client.post(reverse(f"admin:queueops_{model}_add"), data, follow=True)


def test_a_pause_holds_jobs_and_says_who_and_why(doors: Doors) -> None:
    client = user("operator")
    assert "Put in force" in client.get(reverse("admin:queueops_pause_add")).content.decode()
    doors.enqueue()
    said = add(client, "pause", kind="queue", name="default", minutes="30", reason="air").content.decode()
    assert "Queue default is in force." in said
    assert doors.start() is None
    row = Pause.objects.get()
    assert (row.actor, row.reason, row.state) == ("operator-1", "air", "in_force")
    assert row.until and abs(row.until - row.created - timedelta(minutes=30)) < timedelta(minutes=1)
    assert Intervention.objects.get().verb == "pause"
    add(client, "pause", kind="all", name="", reason="everything")
    assert doors.redis.hexists(K.static("paused"), "all")


def test_an_isolation_and_an_override(doors: Doors) -> None:
    client = user("operator")
    calls.publish(doors.redis, "1", {"S:disk": {"kind": "semaphore", "limit": 2}})
    doors.enqueue(claim("semaphore", "disk"), function="app.f")
    assert "is in force" in add(client, "isolation", kind="function", name="app.f", reason="r").content.decode()
    assert doors.start() is None and Isolation.objects.get().name == "app.f"
    assert "is in force" in add(client, "override", name="S:disk", limit="0", reason="r").content.decode()
    assert Override.objects.get().limit == 0


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("pause", {"kind": "queue", "name": "default"}, "This field is required"),
        ("pause", {"kind": "all", "name": "x", "reason": "r"}, "takes no name"),
        ("pause", {"kind": "queue", "name": "default", "minutes": "0", "reason": "r"}, "greater than or equal to 1"),
        ("isolation", {"kind": "error", "name": "<b>", "reason": "r"}, "fingerprint"),
        ("override", {"name": "S:nobody", "limit": "1", "reason": "r"}, "S:nobody"),
        ("override", {"name": "S:nobody", "limit": "-1", "reason": "r"}, "greater than or equal to 0"),
    ],
)
def test_what_is_wrong_is_said_in_the_form(doors: Doors, name: str, data: dict[str, str], said: str) -> None:
    answer = add(user("operator"), name, **data)
    assert said in answer.content.decode() and "Put in force" in answer.content.decode()
    assert not Pause.objects.exists() and not Isolation.objects.exists() and not Override.objects.exists()


def test_who_may_only_look_adds_nothing(doors: Doors) -> None:
    client = user("viewer")
    for name in ("pause", "isolation", "override"):
        assert client.get(reverse(f"admin:queueops_{name}_add")).status_code == 403
        assert add(client, name, kind="queue", name="default", reason="r").status_code == 403
        assert "addlink" not in client.get(reverse(f"admin:queueops_{name}_changelist")).content.decode()
    assert not Intervention.objects.exists()


def test_a_replay_at_a_pace_goes_on_in_the_background(doors: Doors, who: dict[str, str]) -> None:
    quarantine([doors.enqueue() for _ in range(3)], **who)
    selection.refresh()
    keys = list(QuarantinedJob.objects.values_list("pk", flat=True))
    client = user("operator")
    wrong = act(client, "quarantinedjob", "replay_selected", keys, confirmed=1, reason="r", rate="fast")
    assert "Enter a number" in wrong.content.decode()
    said = act(client, "quarantinedjob", "replay_selected", keys, confirmed=1, reason="r", rate="0.5")
    assert "3 jobs are being worked on" in said.content.decode()
    assert Batch.objects.get(verb="replay").rate == 0.5
