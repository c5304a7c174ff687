from __future__ import annotations

from queueops.rdb import doors as door
from queueops.rdb.client import Server
from tests.scripts.kit import Doors, K, claim, eventually


def test_time_moves_queues_that_no_worker_serves(doors: Doors) -> None:
    server = Server("default", doors.redis, ("default",))
    lock = claim("lock", "book", "1")
    job = doors.enqueue(lock)
    doors.start(span=0.02)
    due = doors.enqueue(mode="schedule", due="+0.02", mapping={"status": "scheduled"})
    eventually(lambda: door.tick(server) and len(doors.queued()) == 2)
    assert set(doors.queued()) == {job, due}
    assert doors.redis.hlen(K.static("leases")) == 0


def test_does_nothing_before_the_mirror_is_complete(doors: Doors) -> None:
    doors.redis.delete(K.static("epoch"))
    doors.enqueue(mode="schedule", due="1", mapping={"status": "scheduled"})
    assert door.tick(Server("default", doors.redis, ("default",))) == (0, 0, 0, 0) or doors.queued() == []
