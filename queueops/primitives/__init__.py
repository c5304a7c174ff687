"""Lock, Semaphore and RateLimiter for any code, sharing keys, limits and pages with the controls of jobs."""

from __future__ import annotations

from queueops.primitives.errors import DeclarationError, NotAcquired
from queueops.primitives.holding import Lease, Lock, Semaphore
from queueops.primitives.rate import Hit, RateLimiter

__all__ = ["DeclarationError", "Hit", "Lease", "Lock", "NotAcquired", "RateLimiter", "Semaphore"]
