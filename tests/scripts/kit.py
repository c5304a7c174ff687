"""Drives the doors directly, without RQ: jobs are hashes, workers are names."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from queueops.conf import conf
from queueops.rdb import doors
from queueops.rdb.keys import control_id, instance
from queueops.rdb.scripts import SCHEMA, run

K = conf.keys


def claim(kind: str, name: str, key: str = "", **more: Any) -> dict[str, Any]:
    """One claim as stored on a job; ``per`` and ``lease`` in seconds."""
    made = {
        "i": instance(kind, name, key), "c": control_id(kind, name), "k": control_id(kind, name)[0], "w": 1, "n": 1,
        "per": 0, "s": "sliding", "b": 0, "l": 0, "o": "wait", "ra": 0, "mw": 0, "t": key,
    }  # fmt: skip
    for name_, value in more.items():
        made[name_] = int(value * 1_000_000) if name_ in ("per", "l", "ra", "mw") else value
    return made


class Doors:
    """The doors of one server with short names; ``span`` in seconds."""

    def __init__(self, redis: Any, queue: str = "default", span: float = 30) -> None:
        self.redis, self.queue, self.span = redis, queue, span
        run(redis, "mirror", "test", SCHEMA, "{}", "{}", "{}")

    def enqueue(self, *claims: dict[str, Any], function: str = "app.f", queue: str = "", **more: Any) -> str:
        job_id = more.pop("job_id", "") or f"job-{uuid4().hex[:8]}"
        queue = queue or self.queue
        mapping = {"data": b"x", "status": "queued", "origin": queue, "timeout": 180, "qo_func": function}
        if more.pop("controlled", True):
            mapping["qo_claims"] = json.dumps(claims)
        mapping.update(more.pop("mapping", {}))
        self.answer = doors.enqueue(
            self.redis,
            mode=more.pop("mode", "queue"),
            job_id=job_id,
            queue=queue,
            function=function,
            mapping=mapping,
            **more,
        )
        return job_id

    def claim(self, *queues: str, worker: str = "w1", **more: Any) -> Any:
        self.token = more.pop("token", "") or uuid4().hex
        return doors.claim(
            self.redis, worker, self.token, queues or (self.queue,), span=more.pop("span", self.span), **more
        )

    def start(self, *queues: str, **more: Any) -> tuple[str, str] | None:
        """``(job id, token)`` of the next job, None when nothing may run."""
        found = self.claim(*queues, idle=False, **more)
        return (found.job_id, self.token) if isinstance(found, doors.Claimed) else None

    def settle(self, token: str, outcome: str = "completed", **more: Any) -> doors.Settled:
        commands = more.pop("commands", None)
        if commands is None:
            status = {"completed": "finished", "failed": "failed"}.get(outcome)
            raw = self.redis.hget(K.static("leases"), token)
            commands = []
            if status and raw:
                commands = [("HSET", K.of("rq_job", json.loads(raw)["job"]), "status", status)]
        return doors.settle(self.redis, token, outcome, commands=commands, **more)

    def totals(self, queue: str = "") -> dict[str, int]:
        found = self.redis.hgetall(K.of("total", queue or self.queue))
        return {event.decode(): int(n) for event, n in found.items()}

    def field(self, job_id: str, name: str) -> str | None:
        value = self.redis.hget(K.of("rq_job", job_id), name)
        return None if value is None else value.decode()

    def line(self, instance_: str) -> list[str]:
        return [job.decode() for job in self.redis.zrange(K.of("line", instance_), 0, -1)]

    def queued(self, queue: str = "") -> list[str]:
        return [job.decode() for job in self.redis.lrange(K.of("rq_queue", queue or self.queue), 0, -1)]

    def log(self) -> list[str]:
        return [fields[b"e"].decode() for _, fields in self.redis.xrange(K.static("log"))]


def eventually(check: Callable[[], Any], seconds: float = 5.0) -> Any:
    """What ``check`` answers once it is true: for things that only the store's clock brings about."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := check():
            return found
        time.sleep(0.005)
    raise AssertionError(f"not within {seconds} s: {check}")
