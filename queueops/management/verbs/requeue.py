"""``queueops requeue``."""

from __future__ import annotations

from queueops.management.verbs._jobs import JobsVerb
from queueops.operations import requeue


class Verb(JobsVerb):
    name = "requeue"
    help = "run failed jobs again under their own ids"
    verb = staticmethod(requeue)
    done = "requeued"
    state = "failed"
