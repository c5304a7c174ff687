"""The claims of a job: one for each instance, in the order of refusal, and their stored text."""

from __future__ import annotations

import json
from collections.abc import Iterable

from queueops.primitives.claim import Claim, Control, instance_and_text, micros

__all__ = ["Claim", "Control", "decode_claims", "encode_claims", "instance_and_text", "merged", "micros"]

_ORDER = {"X": 0, "L": 1, "S": 2, "R": 3, "B": 4}


def merged(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """One claim for each instance (the heaviest), locks before semaphores before rates: the order of refusal."""
    by_instance: dict[str, Claim] = {}
    for claim in claims:
        other = by_instance.get(claim.instance)
        if other is None or claim.weight > other.weight:
            by_instance[claim.instance] = claim
    return tuple(sorted(by_instance.values(), key=lambda c: _ORDER.get(c.control[0], 9)))


def encode_claims(claims: Iterable[Claim]) -> str:
    """The text stored on the job."""
    return "[" + ",".join([claim.encoded() for claim in claims]) + "]"


def decode_claims(text: str | bytes) -> tuple[Claim, ...]:
    """Claims as stored by :func:`encode_claims`. Raises ValueError for anything else."""
    try:
        return tuple(
            Claim(
                instance=str(c["i"]),
                control=str(c["c"]),
                limit=int(c["n"]),
                weight=int(c["w"]),
                per=int(c["per"]),
                strategy=str(c["s"]),
                burst=int(c["b"]),
                lease=int(c["l"]),
                otherwise=str(c["o"]),
                release_after=int(c["ra"]),
                max_wait=int(c["mw"]),
                text=str(c["t"]),
            )
            for c in json.loads(text)
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"not the claims of a job: {problem}") from None
