from __future__ import annotations

from queueops.testing.fixtures import own_redis, own_redis_server, pass_time, run_jobs

__all__ = ["own_redis", "own_redis_server", "pass_time", "run_jobs"]
