"""``queueops quarantine``."""

from __future__ import annotations

from queueops.management.verbs._jobs import JobsVerb
from queueops.operations import quarantine


class Verb(JobsVerb):
    name = "quarantine"
    help = "set open jobs aside, so that they do not run until replayed"
    verb = staticmethod(quarantine)
    done = "quarantined"
    state = None
