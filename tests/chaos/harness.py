"""Real processes on a private Redis, and a seeded killer."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import redis as redis_py

from queueops.rdb.keys import Keys
from queueops.rq import Queue
from queueops.supervise.embedded import Server, socket_path
from queueops.supervise.family import tie_to_parent
from queueops.testing import clock
from tests.chaos import judge, record
from tests.support import ROOT, eventually

OUTAGE = 3.0
"""Seconds; longer than the lease: a job must not run on when its worker cannot renew."""

LINES_OF_A_JOB = 600
"""Bytes that a job writes down, on average."""

QUEUES = ("high", "default", "low")


class StrictServer(Server):
    """Answers after its append-only file is on the disk: only then is "what was answered is kept" a promise."""

    def start(self) -> None:
        super().start()
        with redis_py.Redis.from_url(self.url) as connection:
            connection.config_set("appendfsync", "always")


@dataclass(slots=True)
class Process:
    kind: str
    name: str
    pid: int


@dataclass
class Town:
    """Workers, monitor and producers, and what became of them. ``kinds``: how many of each."""

    home: Path
    kinds: dict[str, int]
    pause: float = 0.1
    kills: Counter[str] = field(default_factory=Counter)
    processes: list[Process] = field(default_factory=list)
    keys: Keys = field(default_factory=Keys)
    _number: int = 0

    def __enter__(self) -> Town:
        self.server = StrictServer(self.home / "redis")
        self.server.start()
        self._point_to(self.server)
        self.redis = redis_py.Redis.from_url(self.url)
        self.record_path = self.home / "record"
        self.log_path = self.home / "log"
        self.env = {
            **os.environ,
            "REDIS_URL": self.url,
            "DATABASE_URL": f"sqlite:///{self.home / 'db.sqlite3'}",
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "QUEUEOPS_STATE_DIR": str(self.home),
            record.VARIABLE: str(self.record_path),
            "CHAOS_PAUSE": str(self.pause),
            "PYTHONUNBUFFERED": "1",
        }
        manage = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity", "0"]
        subprocess.run(manage, env=self.env, cwd=ROOT, check=True)
        self._log = self.log_path.open("ab")
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.nursery"],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            preexec_fn=tie_to_parent(),
        )
        assert self._nursery.stdout is not None
        ready = self._nursery.stdout.readline()
        assert ready == b"ready\n", self.log_path.read_text()
        for kind, number in self.kinds.items():
            for _ in range(number):
                self.spawn(kind)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for process in self.processes:
            self._kill_pid(process.pid)
        self._nursery.kill()
        self._nursery.wait()
        self._log.close()
        self.redis.close()
        self.server.kill()

    def spawn(self, kind: str, number: int = 1) -> Process:
        """Start ``number`` processes of this kind; the last of them."""
        for _ in range(number - 1):
            self.spawn(kind)
        self._number += 1
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        name = f"{kind}-{self._number}"
        self._nursery.stdin.write(f"{kind} {name} {self._number}\n".encode())
        self._nursery.stdin.flush()
        process = Process(kind, name, int(self._nursery.stdout.readline()))
        self.processes.append(process)
        return process

    def of(self, *kinds: str) -> list[Process]:
        return [process for process in self.processes if process.kind in kinds]

    def horses(self) -> list[int]:
        """The work horses that run now."""
        found: list[int] = []
        for process in self.of("fork"):
            try:
                found += [child.pid for child in psutil.Process(process.pid).children()]
            except psutil.NoSuchProcess:
                continue
        return found

    def kill(self, process: Process) -> None:
        """SIGKILL it and start another of its kind."""
        self._kill_pid(process.pid)
        self.processes.remove(process)
        self.spawn(process.kind)

    def end(self, *kinds: str) -> None:
        """SIGKILL all processes of these kinds, and start no others."""
        for process in self.of(*kinds):
            self._kill_pid(process.pid)
            self.processes.remove(process)

    @property
    def url(self) -> str:
        """The address that all processes have, whichever server is behind it."""
        return f"unix://{self.home / 'current.sock'}?db=0"

    def _point_to(self, server: Server) -> None:
        new = self.home / "new.sock"
        new.symlink_to(socket_path(server.directory))
        new.replace(self.home / "current.sock")

    def fail_over(self, replica: Server) -> None:
        """The primary dies, and everybody finds the replica in its place."""
        self.server.kill()
        self._point_to(replica)
        self.server = replica

    def reset(self) -> None:
        """Nothing runs, nothing is stored, nothing is written down."""
        self.end(*{process.kind for process in self.processes})
        self.redis.config_set("maxmemory", 0)
        self.redis.replicaof("NO", "ONE")
        self.redis.flushall()
        self.record_path.write_text("")

    @staticmethod
    def _kill_pid(pid: int) -> None:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            return

    def strike(self, dice: random.Random) -> str:
        """Kill something; what it was."""
        target = dice.choices(
            ("worker", "horse", "redis", "monitor", "producer", "both"), weights=(25, 30, 8, 7, 15, 5)
        )[0]
        if target in ("horse", "both"):
            horses = self.horses()
            if not horses:
                target = "worker"
            else:
                horse = dice.choice(horses)
                self._kill_pid(horse)
        if target == "redis":
            self.server.kill()
            time.sleep(dice.choice((0.0, 0.1, 0.5, OUTAGE)))
            self.server.start()
            self.revive()
        elif target != "horse":
            kinds = {"worker": ("fork", "simple"), "both": ("fork",), "monitor": ("monitor",)}
            found = self.of(*kinds.get(target, ("producer", "stranger")))
            if not found:
                return ""
            self.kill(dice.choice(found))
        self.kills[target] += 1
        return target

    def enqueue(self, func: Any, *args: Any, queue: str = "default", **options: Any) -> Any:
        """Enqueue a job from here."""
        return Queue(queue, connection=self.redis).enqueue(func, *args, **options)

    def manage(self, *words: str) -> None:
        """One of the commands, as an operator types it."""
        command = [sys.executable, str(ROOT / "manage.py"), "queueops", *words]
        subprocess.run(command, env=self.env, cwd=ROOT, check=True, capture_output=True)

    def log(self, *names: str, job: str | None = None) -> list[dict[str, str]]:
        """The changelog's events of these names (all if none is given), oldest first."""
        found = judge.events(self.redis, self.keys)
        return [e for e in found if (not names or e["e"] in names) and job in (None, e.get("job"))]

    def all_lines(self) -> list[record.Line]:
        return list(record.read(self.record_path))

    def ended(self, jobs: list[Any]) -> set[str]:
        """Which of these jobs have come to their end."""
        return {line.job for line in self.lines("end")} & {job.id for job in jobs}

    def lines(self, what: str, job: str | None = None) -> list[record.Line]:
        """What jobs and producers wrote down."""
        return [line for line in record.read(self.record_path) if line.what == what and job in (None, line.job)]

    def findings(self) -> list[str]:
        """The judge's verdict, once the last offers are over."""
        for key in self.redis.scan_iter(self.keys.of("offers", "") + "*"):
            eventually(lambda key=key: not self.redis.exists(key), 5, f"{key!r} is over")
        words = "found an unhandled exception, quitting"
        gone = [line for line in self.log_path.read_text().splitlines() if words in line]
        return gone + judge.verdict(self.redis, self.keys, self.record_path)

    @staticmethod
    def alive(process: Process) -> bool:
        return psutil.pid_exists(process.pid)

    def revive(self) -> None:
        """Replace processes that ended by themselves (Redis was away when they started), as their supervisor would."""
        for process in [process for process in self.processes if not psutil.pid_exists(process.pid)]:
            self.processes.remove(process)
            self.spawn(process.kind)

    def open_jobs(self) -> dict[str, int]:
        """Jobs that are neither ended nor held, by state; as of one moment, since jobs move between two reads."""
        found: Counter[str] = Counter()
        pipe = self.redis.pipeline(transaction=True)
        for queue in QUEUES:
            pipe.llen(self.keys.of("rq_queue", queue))
            pipe.zcard(self.keys.of("rq_scheduled", queue)).zcard(self.keys.of("rq_deferred", queue))
        *counts, found["running"] = pipe.hlen(self.keys.static("leases")).execute()
        for at, state in enumerate(("queued", "scheduled", "deferred")):
            found[state] = sum(counts[at::3])
        return {state: number for state, number in found.items() if number}

    def work_done(self) -> int:
        """Grows with everything that jobs do."""
        return self.record_path.stat().st_size if self.record_path.exists() else 0

    def let_work(self, jobs: float, seconds: float = 5.0) -> None:
        """Return once about so many jobs have run, or nothing much happens: a slow machine gets the time it needs."""
        goal, until = self.work_done() + jobs * LINES_OF_A_JOB, time.monotonic() + seconds
        while self.work_done() < goal and time.monotonic() < until:
            time.sleep(0.01)

    def drain(self, seconds: float) -> dict[str, int]:
        """Wait until no job is open; what is left when nothing has happened for ``seconds``.

        The lease of a killed simple worker lasts its job's timeout and a minute: the clock is moved past that once
        all others stand still.
        """
        still: tuple[dict[str, int], int] = ({}, 0)
        since = moved = time.monotonic()
        while left := self.open_jobs():
            now = time.monotonic()
            if (left, self.work_done()) != still:
                still, since = (left, self.work_done()), now
            elif now - since > seconds:
                break
            elif now - max(since, moved) > 1.5 and "queued" not in left and self.all_abandoned():
                clock.advance(self.redis, 600)
                moved = now
            time.sleep(0.1)
        return left

    def all_abandoned(self) -> bool:
        """Whether every lease is that of a killed simple worker."""
        records = [json.loads(raw) for raw in self.redis.hvals(self.keys.static("leases"))]
        names = {process.name for process in self.processes}
        return all(record["simple"] and record["worker"] not in names for record in records)
