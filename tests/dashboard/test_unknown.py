"""The unknown is a 404 with nothing to do; who may not see is led in no circle; lifting says what it does."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client

from dashboard import sentences, wording
from dashboard.selectors import snapshots
from dashboard.selectors.snapshot_data import State
from dashboard.selectors.snapshots import parse


def test_a_queue_that_nobody_knows_is_not_found(boss: Client, redis: Any) -> None:
    answer = boss.get("/queues/?name=nope")
    text = answer.content.decode()
    assert answer.status_code == 404 and "No queue of this name is known" in text
    assert 'data-dialog="pause"' not in text
    assert boss.get("/queues/?name=default").status_code == 200
    redis.sadd("rq:queues", "rq:queue:nope")
    snapshots.forget()
    answer = boss.get("/queues/?name=nope")
    assert answer.status_code == 200 and 'data-dialog="pause"' in answer.content.decode()


def test_who_may_not_see_is_not_led_back_to_the_same_refusal(roles: dict[str, Any], redis: Any) -> None:
    client = Client()
    client.force_login(roles["nobody"])
    answer = client.get("/jobs/")
    assert answer.status_code == 403 and 'href="/"' not in answer.content.decode()
    client.force_login(roles["viewer"])
    answer = client.post("/do/pause/", {"kind": "all"})
    assert answer.status_code == 403 and 'href="/"' in answer.content.decode()


def test_what_is_lifted_says_what_happens() -> None:
    said = [wording.lift_text(verb) for verb in ("unisolate", "limit", "resume")]
    assert "until they are replayed" in said[0] and "declared limit" in said[1] and "starts again" in said[2]


def test_a_banner_item_carries_the_text_of_its_verb(boss: Client, redis: Any) -> None:
    boss.post("/do/isolate/", {"kind": "error", "name": "abcdef12", "reason": "x", "next": "/"})
    snapshots.forget()
    text = html.unescape(boss.get("/").content.decode())
    assert (
        'data-says="From now on such jobs run again. Those in quarantine stay there until they are replayed."' in text
    )
    assert "What waited starts again" not in text


@pytest.mark.parametrize(
    ("count", "told"),
    [(2, "a will not clear: nothing completes. b will not clear: it grows by 3.5/min."), (5, "2 more need a person.")],
)
def test_the_line_of_health_tells_of_every_need(count: int, told: str) -> None:
    texts = ["a will not clear: nothing completes.", "b will not clear: it grows by 3.5/min.", *("c" * 3)][:count]
    needs = [{"level": "warn", "kind": "growing", "text": text} for text in texts]
    found = parse({"v": 1, "level": "warn", "at": 1, "needs": needs}, "default", 1)
    assert sentences.health(State((found,), (), ())).endswith(told)
