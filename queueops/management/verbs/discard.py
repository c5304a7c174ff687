"""``queueops discard``."""

from __future__ import annotations

from queueops.management.verbs._jobs import QuarantineVerb
from queueops.operations import discard


class Verb(QuarantineVerb):
    name = "discard"
    help = "delete jobs that are not running for good; SQL keeps the copy of quarantined ones"
    verb = staticmethod(discard)
    done = "discarded"
