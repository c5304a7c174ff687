"""Whatever is killed: no job lost, none completed twice by the count, no limit exceeded, the ledger exact.

The promise holds for a Redis with ``appendfsync always``, killed and restarted from its append-only file: what it
answered is on its disk. A job that is killed between the end of its function and settle runs again: at least once.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from tests.chaos import judge
from tests.chaos.harness import Town

KILLS = int(os.environ.get("CHAOS_KILLS", "30"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))
MOST = 6.0
"""Jobs that run between two kills, at most."""


@pytest.mark.chaos
@pytest.mark.timeout(300 + 5 * KILLS)
def test_nothing_is_lost_or_exceeded_whatever_is_killed(town: Callable[..., Town]) -> None:
    dice = random.Random(SEED)
    here = town(fork=3, simple=1, monitor=1, producer=1, stranger=1)
    while here.kills.total() < KILLS:
        here.let_work(MOST * dice.random())
        here.strike(dice)
    here.end("producer", "stranger")
    left = here.drain(60)
    total = dict(judge.totals(here.redis, here.keys))
    print(f"kills: {dict(here.kills)}; ledger: {total}")
    assert not left, f"still open after {dict(here.kills)}: {left}"
    findings = here.findings()
    assert not findings, f"{len(findings)} findings after {dict(here.kills)}, {total}: {findings[:40]}"
