"""The admin reads with ``view_dashboard``; each action needs its permission and a reason, and runs the verb."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from queueops.models import Batch, Intervention, QuarantinedJob
from queueops.operations import Selection, isolate, pause, quarantine, replay, selection
from tests.scripts.kit import Doors, K

PAGES = ("pause", "isolation", "override", "intervention", "batch", "quarantinedjob")


def user(group: str) -> Client:
    """A signed-in member of one of our groups."""
    person = User.objects.create_user(f"{group}-1", password="x", is_staff=True)
    person.groups.add(Group.objects.get(name=group))
    client = Client()
    client.force_login(person)
    return client


def page(name: str) -> str:
    return reverse(f"admin:queueops_{name}_changelist")


def act(client: Client, name: str, action: str, keys: list[Any], **more: Any) -> Any:
    return client.post(page(name), {"action": action, "_selected_action": keys, **more}, follow=True)


def test_groups_have_their_permissions(db: None) -> None:
    found = {g.name: set(g.permissions.values_list("codename", flat=True)) for g in Group.objects.all()}
    assert found["viewer"] == {"view_dashboard"}
    assert found["operator"] == {"view_dashboard", "operate", "replay"}
    assert found["lead"] == {"view_dashboard", "operate", "replay", "release", "configure", "approve"}


def test_every_page_for_a_viewer_and_none_for_staff_without_permission(doors: Doors, who: dict[str, str]) -> None:
    pause("queue", "default", **who)
    isolate("error", "abcdef12", **who)
    quarantine(doors.enqueue(), **who)
    selection.refresh()
    client, nobody = user("viewer"), Client()
    nobody.force_login(User.objects.create_user("staff", is_staff=True))
    for name in PAGES:
        answer = client.get(page(name))
        assert answer.status_code == 200, name
        assert 'name="action"' not in answer.content.decode(), "a viewer is offered no action"
        assert nobody.get(page(name)).status_code == 403
        for key in client.get(page(name)).context["cl"].queryset.values_list("pk", flat=True)[:1]:
            detail = reverse(f"admin:queueops_{name}_change", args=[key])
            assert client.get(detail).status_code == 200
            assert client.post(detail, {"name": "x"}).status_code == 403
            assert client.post(reverse(f"admin:queueops_{name}_delete", args=[key])).status_code == 403


def test_lifting_asks_for_a_reason_then_resumes_as_the_user(doors: Doors, who: dict[str, str]) -> None:
    paused = pause("queue", "default", **who).setting
    client = user("operator")
    asked = act(client, "pause", "lift", [paused.pk])
    assert "1 of the selected is in force" in asked.content.decode()
    assert "queue default" in asked.content.decode()
    doors.enqueue()
    assert doors.start() is None
    assert (
        "This field is required" in act(client, "pause", "lift", [paused.pk], confirmed=1, reason=" ").content.decode()
    )
    assert "1 was lifted" in act(client, "pause", "lift", [paused.pk], confirmed=1, reason="over").content.decode()
    assert doors.start()
    row = Intervention.objects.get(verb="resume")
    assert (row.actor, row.reason) == ("operator-1", "over")


def test_a_viewer_cannot_act(doors: Doors, who: dict[str, str]) -> None:
    paused = pause("queue", "default", **who).setting
    job = doors.enqueue()
    quarantine(job, **who)
    selection.refresh()
    client, before = user("viewer"), Intervention.objects.count()
    act(client, "pause", "lift", [paused.pk], confirmed=1, reason="x")
    act(client, "quarantinedjob", "replay_selected", [QuarantinedJob.objects.get().pk], confirmed=1, reason="x")
    assert Intervention.objects.count() == before
    assert doors.redis.hexists(K.static("paused"), "q:default")


@pytest.mark.parametrize(("action", "state"), [("replay_selected", "replayed"), ("discard_selected", "discarded")])
def test_replay_and_discard(doors: Doors, who: dict[str, str], action: str, state: str) -> None:
    quarantine([doors.enqueue() for _ in range(3)], **who)
    selection.refresh()
    client = user("operator")
    keys = list(QuarantinedJob.objects.order_by("id").values_list("pk", flat=True))[:2]
    assert "2 of the selected are quarantined" in act(client, "quarantinedjob", action, keys).content.decode()
    answer = act(client, "quarantinedjob", action, keys, confirmed=1, reason="why not")
    assert "2 of 2 done, 0 skipped, 0 gone" in answer.content.decode()
    assert QuarantinedJob.objects.filter(state=state).count() == 2
    assert Intervention.objects.latest("id").actor == "operator-1"


def test_stopping_a_batch_says_why(doors: Doors, who: dict[str, str]) -> None:
    quarantine(doors.enqueue(), **who)
    batch = replay(Selection(everything=True), background=True, **who).batch
    act(user("operator"), "batch", "stop", [batch.pk], confirmed=1, reason="wrong filter")
    assert Batch.objects.get(pk=batch.pk).state == "stopped"
    assert Intervention.objects.get(pk=batch.intervention_id).after["stopped_because"] == "wrong filter"


def test_hostile_text_is_text_and_more_rows_cost_no_more_queries(doors: Doors, who: dict[str, str]) -> None:
    client = user("lead")

    def queries(name: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            body = client.get(page(name)).content.decode()
        assert "<img src=x" not in body
        return len(seen)

    client.get(page("batch"))
    few = []
    evil = {"actor": "<img src=x>", "reason": "<img src=x onerror=alert(1)>"}
    for _ in range(2):
        quarantine([doors.enqueue(function="<img src=x>") for _ in range(3)], **evil)
        selection.refresh()
        few.append({name: queries(name) for name in PAGES})
    for _ in range(5):
        quarantine([doors.enqueue(function="<img src=x>") for _ in range(3)], **evil)
    selection.refresh()
    assert {name: queries(name) for name in PAGES} == few[-1]
