from __future__ import annotations

from queueops.rdb.scripts import run
from tests.scripts.kit import Doors, K


def test_writes_reads_and_leaves_nothing(doors: Doors) -> None:
    assert run(doors.redis, "probe", "word") == b"word"
    assert 0 < doors.redis.pttl(K.static("probe")) <= 10_000
