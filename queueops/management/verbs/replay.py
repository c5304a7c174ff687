"""``queueops replay``."""

from __future__ import annotations

from queueops.management.verbs._jobs import QuarantineVerb
from queueops.operations import replay


class Verb(QuarantineVerb):
    name = "replay"
    help = "run quarantined jobs again under new ids, oldest first"
    verb = staticmethod(replay)
    done = "replayed"
