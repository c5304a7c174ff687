"""Lock, Semaphore and RateLimiter for any code, sharing keys, limits and pages with the controls of jobs."""

from __future__ import annotations

from queueops.primitives.errors import NotAcquired

__all__ = ["NotAcquired"]
