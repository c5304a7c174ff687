"""Many consumers and producers on one queue, some of them killed at any point: run by ``test_crowd``, not by pytest.

Each process appends what it does to a file of its own: a line is whole or absent, whatever kills its writer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

LEASE = 3.0


class Diary:
    """The file of one process: one write for each line."""

    def __init__(self, home: Path, kind: str) -> None:
        self.file = os.open(home / f"{kind}-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, *words: object) -> None:
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())


def produce(home: Path, messages: int) -> None:
    from queueops.sqlqueue import SQLQueue

    queue, diary = SQLQueue("crowd", max_attempts=1000), Diary(home, "push")
    left = messages
    while left:
        ids = [queue.push(b"x" * 50, priority=left % 3)] if left % 7 else queue.push_many([b"x" * 50] * 7)
        for each in ids:
            diary.note("pushed", each)
        left -= min(len(ids), left)


def consume(home: Path, messages: int) -> None:
    from queueops.sqlqueue import LeaseLost, SQLQueue

    queue, diary, luck = SQLQueue("crowd", max_attempts=1000), Diary(home, "pop"), random.Random(os.getpid())
    while True:
        found = queue.pop_many(luck.choice((1, 1, 1, 5)), lease=LEASE)
        if not found:
            if (home / "all pushed").exists() and queue.depth().open == 0:
                return
            time.sleep(0.02)
            continue
        for message in found:
            diary.note("took", message.id, message.attempts)
        if luck.random() < 0.02:
            found.pop().nack()
        for message in found:
            try:
                message.ack()
            except LeaseLost:
                diary.note("late", message.id)
            else:
                diary.note("acked", message.id)


def start(work: Callable[..., None], *given: Any) -> int:
    """A child of its own, with no connection of ours."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(*given)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main(home: Path, consumers: int, producers: int, messages: int, kills: int, seed: int) -> None:
    """Every process that is killed is replaced. Writes what became of all to ``home/result``."""
    luck, share = random.Random(seed), messages // producers
    running = {start(consume, home, 0): consume for _ in range(consumers)}
    running |= {start(produce, home, share): produce for _ in range(producers)}
    killed, failed, asked = 0, 0, set()
    while running:
        if killed + len(asked) < kills:
            victim = luck.choice(list(running))
            if victim not in asked:
                os.kill(victim, signal.SIGKILL)
                asked.add(victim)
            time.sleep(luck.uniform(0, 0.1))
        ended, status = os.waitpid(-1, os.WNOHANG if killed + len(asked) < kills else 0)
        if not ended:
            continue
        work = running.pop(ended)
        if os.WIFSIGNALED(status) and ended in asked:
            killed += 1
            asked.discard(ended)
            running[start(work, home, share // 4)] = work
        else:
            asked.discard(ended)
            failed += os.waitstatus_to_exitcode(status) != 0
        if produce not in running.values():
            (home / "all pushed").touch()
    (home / "result").write_text(json.dumps({"killed": killed, "failed": failed}))


if __name__ == "__main__":
    django.setup()
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
