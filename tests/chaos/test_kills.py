"""Whatever is killed: no job lost, none completed twice by the count, no limit exceeded, the ledger exact.

The promise holds for a Redis with ``appendfsync always``, killed and restarted from its append-only file: what it
answered is on its disk. A job that is killed between the end of its function and settle runs again: at least once.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.chaos import judge
from tests.chaos.harness import Town

KILLS = int(os.environ.get("CHAOS_KILLS", "30"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))
PACE = float(os.environ.get("CHAOS_PACE", "0.7"))
"""Mean seconds between two kills."""


@pytest.mark.chaos
def test_nothing_is_lost_or_exceeded_whatever_is_killed(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    kinds = {"fork": 2, "simple": 1, "monitor": 1, "producer": 1, "stranger": 1}
    with Town(tmp_path, kinds) as town:
        while town.kills.total() < KILLS:
            time.sleep(PACE * 2 * dice.random())
            town.strike(dice)
        town.end("producer", "stranger")
        left = town.drain(60)
        assert not left, f"still open after {dict(town.kills)}: {left}; {town.log_path.read_text()[-3000:]}"
        time.sleep(2.5)  # offers last two seconds
        findings = judge.verdict(town.redis, town.keys, town.record_path)
        total = dict(judge.totals(town.redis, town.keys))
        print(f"kills: {dict(town.kills)}; ledger: {total}")
        assert not findings, f"{len(findings)} findings after {dict(town.kills)}, {total}: {findings[:40]}"
