"""Jobs with a middleware whose hooks are watched."""

from __future__ import annotations

import os
import signal
from typing import Any

from redis.exceptions import ConnectionError
from rq import Retry, get_current_job

from queueops import Discard, Fail, Middleware, Postpone, Quarantine, controlled, current_execution
from tests.rq.hostile_jobs import LONE, NoText

HEARD: list[tuple[str, str]] = []
"""(job id, outcome) of each call of ``settled``."""


class Silent(ConnectionError):
    """A server that does not answer."""


class Ear(Middleware):
    def around(self, job: Any, call_next: Any) -> Any:
        job.connection.rpush("tests:around", job.id)
        return call_next()

    def settled(self, job: Any, outcome: str) -> None:
        HEARD.append((job.id, outcome))


class Broken(Middleware):
    def __repr__(self) -> str:
        raise RuntimeError("not shown")

    def settled(self, job: Any, outcome: str) -> None:
        raise {"completed": NoText(), "failed": SystemExit(LONE)}.get(outcome, ValueError(LONE))


class Stops(Middleware):
    def settled(self, job: Any, outcome: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        HEARD.append((job.id, outcome))


class Around(Middleware):
    def around(self, job: Any, call_next: Any) -> Any:
        raise Discard("not today")


def _end(how: str) -> Any:
    match how:
        case "fail":
            raise ValueError(how)
        case "final":
            raise Fail("final")
        case "discard":
            raise Discard("no longer wanted")
        case "postpone":
            raise Postpone(60)
        case "retry":
            return Retry(max=1)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            os._exit(0)
        case "exit":
            raise SystemExit(3)
        case "delete":
            get_current_job().delete()
        case "whoami":
            return current_execution()
        case "stop":
            get_current_job().connection.rpush("tests:running", "1")
            while True:
                signal.pause()
    return how


@controlled(Ear(), Quarantine(after=3, crashes=2))
def ends(how: str) -> Any:
    return _end(how)


@controlled(Ear(), Quarantine(after=1, crashes=1))
def ends_in_quarantine(how: str) -> Any:
    return _end(how)


@controlled(Broken(), Ear())
def ends_beside_a_broken_hook(how: str) -> Any:
    return _end(how)


@controlled(Ear(), Around())
def never_reached() -> None:
    raise AssertionError("the body ran")


@controlled(Stops())
def stops_its_worker() -> None: ...
