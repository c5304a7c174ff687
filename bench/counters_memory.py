"""How much Redis memory the counters take: 20 queues × 10 functions at 100 jobs/s for 3 hours, in simulated time.

The doors' own ``count`` include writes; only its clock is replaced. Exits with 1 when the budget is exceeded.

    python bench/counters_memory.py [--minutes 180] [--budget-mb 32]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import redis

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from queueops.rdb.keys import Keys, lua_literals  # noqa: E402
from queueops.supervise.embedded import Server  # noqa: E402

QUEUES, FUNCTIONS, PER_SECOND = 20, 10, 100
TEN_KEPT = 3660
"""Seconds that a 10 s bucket lives: what Redis would have expired is deleted here."""

STEP = """
local NOW = tonumber(ARGV[1])
local function int(x) return string.format('%.0f', x) end
{count}
local jobs, seed = tonumber(ARGV[2]), tonumber(ARGV[3])
math.randomseed(seed)
local function us(median)
  -- log-normal: half of the times lie between 0.4 and 2.5 times the median
  local z = math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
  return median * math.exp(1.4 * z) * 1000
end
for q = 1, {queues} do
  for f = 1, {functions} do
    local queue, func = 'queue-' .. q, 'shop.tasks.module' .. q .. '.function_' .. f
    count(queue, func, 'accepted', jobs)
    count(queue, func, 'started', jobs)
    count(queue, func, 'completed', jobs)
    if math.random() < 0.3 then
      count(queue, func, 'parked')
      count(queue, func, 'woken')
    end
    if math.random() < 0.1 then
      count(queue, func, 'failed_attempt')
      count(queue, func, 'retried')
    end
    if math.random() < 0.02 then count(queue, func, 'failed') end
    for _ = 1, jobs do
      observe(queue, func, 'w', us(200))
      observe(queue, func, 'r', us(50 * f))
    end
  end
end
"""


def memory(connection: redis.Redis) -> int:
    """Bytes of the data, without buffers and the server itself."""
    return int(connection.info("memory")["used_memory"])


def measure(minutes: int) -> tuple[int, str]:
    """``(bytes, what was written)`` after ``minutes`` of simulated load on a private server."""
    keys = Keys()
    count = files("queueops.rdb").joinpath("lua/includes/count.lua").read_text("utf-8")
    source = lua_literals(keys, STEP.format(count=count, queues=QUEUES, functions=FUNCTIONS))
    jobs = PER_SECOND * 10 // (QUEUES * FUNCTIONS)
    with tempfile.TemporaryDirectory(prefix="qo-") as home, Server(Path(home) / "redis") as server:
        connection = redis.Redis.from_url(server.url)
        connection.config_set("appendonly", "no")
        before, begun = memory(connection), time.monotonic()
        script = connection.register_script(source)
        start = int(time.time()) // 60 * 60
        for second in range(start, start + minutes * 60, 10):
            script(args=[second * 1_000_000, jobs, second])
            connection.delete(keys.of("ten", str(second - TEN_KEPT - 10)))
        used = memory(connection) - before
        tens = sum(1 for _ in connection.scan_iter(match=keys.of("ten", "*"), count=1000))
        hashes = connection.dbsize() - tens - QUEUES - 1
        connection.close()
        took = time.monotonic() - begun
    return used, f"{tens} ten-second and {hashes:,} minute hashes, {took:.0f} s"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=int, default=180)
    options.add_argument("--budget-mb", type=float, default=32)
    chosen = options.parse_args()
    used, detail = measure(chosen.minutes)
    met = used < chosen.budget_mb * 2**20
    print(
        f"counters, {QUEUES} queues x {FUNCTIONS} functions, {PER_SECOND} jobs/s, {chosen.minutes} min: "
        f"{used / 2**20:.1f} MB ({detail}) budget {chosen.budget_mb:g} MB: {'met' if met else 'SHORT'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
