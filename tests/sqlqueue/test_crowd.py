"""16 consumers and 8 producers, processes killed at any point: nothing is lost, nothing acknowledged twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from queueops.sqlqueue import SQLQueue
from tests.sqlqueue.servers import url_of
from tests.support import ROOT


def crowd(using: str, home: Path, messages: int, kills: int, seed: int) -> None:
    with (home / "errors").open("w") as errors:
        subprocess.run(
            [sys.executable, "-m", "tests.sqlqueue.crowd", home, *map(str, (16, 8, messages, kills, seed))],
            env={**os.environ, "DATABASE_URL": url_of(using)}, cwd=ROOT, check=True, stderr=errors, timeout=3000,
        )  # fmt: skip
    said = (home / "errors").read_text()
    result = json.loads((home / "result").read_text())
    assert result["failed"] == 0, said[-3000:]
    assert result["killed"] >= kills * 0.8, "too few were killed to show anything"
    pushed: set[int] = set()
    took: Counter[int] = Counter()
    acked: Counter[int] = Counter()
    unanswered: set[int] = set()
    for diary in home.glob("p*-*"):
        last: dict[int, str] = {}
        for word, message_id, *_ in map(str.split, diary.read_text().splitlines()):
            number = int(message_id)
            last[number] = word
            if word == "pushed":
                pushed.add(number)
            took[number] += word == "took"
            acked[number] += word == "acked"
        unanswered |= {number for number, word in last.items() if word == "took"}
    assert not [number for number, times in acked.items() if times > 1], "acknowledged twice"
    # what a process acknowledged and did not live to note was in its hands
    lost = {number for number in pushed if not acked[number] and number not in unanswered}
    assert not lost, f"{len(lost)} lost, taken {[took[number] for number in sorted(lost)][:20]} times"
    assert len(pushed) >= messages * 0.5
    assert SQLQueue("crowd", using).depth() == (0, 0, 0, 0)


@pytest.mark.chaos
def test_none_is_lost_and_none_acknowledged_twice(using: str, tmp_path: Path) -> None:
    """``make chaos`` sends 100,000."""
    kills = int(os.environ.get("CHAOS_KILLS", "15"))
    crowd(using, tmp_path, messages=2_000 if kills < 1000 else 100_000, kills=min(kills, 200), seed=7)
