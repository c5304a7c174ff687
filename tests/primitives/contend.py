"""One of several processes that fight for a semaphore. Who is inside is marked in a shared file, outside Redis.

usage: contend.py REDIS_URL FILE SLOT LIMIT ROUNDS  (prints admissions, refusals and admissions beyond the limit)
"""

from __future__ import annotations

import json
import mmap
import random
import sys
import time
from pathlib import Path

import redis

from queueops import NotAcquired, Semaphore


def main(url: str, file: str, slot: int, limit: int, rounds: int) -> dict[str, int]:
    connection = redis.Redis.from_url(url)
    semaphore = Semaphore("contended", limit, connection=connection)
    chance = random.Random(slot)
    done = {"admitted": 0, "refused": 0, "abandoned": 0, "over": 0}
    with Path(file).open("r+b") as shared, mmap.mmap(shared.fileno(), 0) as inside:

        def work() -> None:
            inside[slot] = 1
            done["admitted"] += 1
            done["over"] += sum(inside[:]) > limit
            # the work: long enough that holders overlap
            time.sleep(chance.random() * 0.01)
            done["over"] += sum(inside[:]) > limit
            inside[slot] = 0

        for _ in range(rounds):
            way = chance.random()
            token = f"{slot}-{chance.getrandbits(64):x}"
            if way < 0.5:
                try:
                    with semaphore.hold(30, timeout=0.2):
                        work()
                except NotAcquired:
                    done["refused"] += 1
            elif not semaphore.acquire(token, 30 if way < 0.98 else 0.1):
                done["refused"] += 1
            elif way < 0.98:
                work()
                if chance.random() < 0.2:
                    semaphore.acquire(token, 30)
                semaphore.release(token)
            else:
                # dies without a word, holding: its lease is short
                done["abandoned"] += 1
    return done


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))))
