"""What a job may declare, and the claims made of it."""

from __future__ import annotations

from queueops.middleware import registry
from queueops.middleware.base import Discard, Fail, Middleware, Postpone, Verdict
from queueops.middleware.breaker import ThrottlesExceptions
from queueops.middleware.call import Call
from queueops.middleware.claims import Claim, Control, decode_claims, encode_claims
from queueops.middleware.declare import controlled
from queueops.middleware.errors import ClaimError, DeclarationError
from queueops.middleware.overlap import WithoutOverlapping
from queueops.middleware.quarantine import Quarantine
from queueops.middleware.rate import RateLimited
from queueops.middleware.registry import JobControls, job_controls
from queueops.middleware.retries import Retries
from queueops.middleware.semaphore import WithSemaphore
from queueops.middleware.unique import Unique

__all__ = [
    "Call",
    "Claim",
    "ClaimError",
    "Control",
    "DeclarationError",
    "Discard",
    "Fail",
    "JobControls",
    "Middleware",
    "Postpone",
    "Quarantine",
    "RateLimited",
    "Retries",
    "ThrottlesExceptions",
    "Unique",
    "Verdict",
    "WithSemaphore",
    "WithoutOverlapping",
    "controlled",
    "decode_claims",
    "encode_claims",
    "job_controls",
    "registry",
]
