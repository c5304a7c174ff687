"""The Locks pages with more live keys than a page shows: found by a search, paged through, waiters first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queueops.rdb.keys import SEP
from tests.scripts.kit import K

KEYS = 700


@pytest.fixture
def held(redis: Any) -> Any:
    """Locks on many books, the first changed longest ago; a job waits for the fourth."""
    pipe = redis.pipeline(transaction=False)
    for n in range(KEYS):
        pipe.zadd(K.static("instances"), {f"L:book{SEP}b-{n}": n + 1})
        pipe.zadd(K.of("holders", f"L:book{SEP}b-{n}"), {f"t{n}": 10**16})
    pipe.zadd(K.static("queues"), {"default": 1})
    pipe.zadd(K.of("parked", "default"), {"j": 1})
    pipe.zadd(K.of("line", f"L:book{SEP}b-3"), {"j": 1})
    pipe.hset(K.of("rq_job", "j"), "qo_parked", f"L:book{SEP}b-3")
    pipe.execute()
    return redis


def keys(html: str) -> list[str]:
    return [f"b-{n}" for n in re.findall(r"<bdi>b-(\d+)</bdi></a>(?:<span class=\"l2\">|</th>)", html)]


def test_a_search_finds_the_key_that_changed_longest_ago(boss: Client, held: Any) -> None:
    answer = boss.get("/locks/", {"q": "B-0"})
    assert [key.info.key for key in answer.context["found"].keys] == ["b-0"]
    assert keys(answer.content.decode()) == ["b-0"]
    found = boss.get("/locks/", {"q": "b-1"}).context["found"]
    assert (found.matching, len(found.keys), found.looked_at, found.partial) == (111, 100, KEYS, False)
    answer = boss.get("/locks/", {"q": "nothing like it"})
    assert not answer.context["rows"] and "No control matches" in answer.content.decode()
    assert [row.name for row in boss.get("/locks/", {"q": "BOO"}).context["rows"]] == ["book"]


def test_a_control_is_paged_through_waiters_first(boss: Client, held: Any) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = boss.get("/locks/", {"control": "L:book", "offset": offset})
        assert answer.context["control"].waiting == 1, "on every page"
        seen += keys(answer.content.decode())
        offset = answer.context["following"]
    assert seen[0] == "b-3"
    assert len(seen) == len(set(seen)) == KEYS


def test_the_list_looks_at_what_jobs_wait_for_and_says_that_it_is_a_part(boss: Client, held: Any) -> None:
    answer = boss.get("/locks/")
    (row,) = answer.context["rows"]
    assert (row.waiting, row.busiest.key) == (1, "b-3")
    assert "of 700 live keys, 301 are counted" in answer.content.decode() and answer.context["found"].partial
    assert row.owners_gone == 301, "their holders have no lease"
