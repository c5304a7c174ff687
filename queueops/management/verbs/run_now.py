"""``queueops run-now``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import VerbError, one_line
from queueops.management.verbs._jobs import JobsVerb
from queueops.operations import run_cron, run_now


class Verb(JobsVerb):
    name = "run-now"
    help = "put scheduled, retrying or repeating jobs on their queues at once; parked ones wait for their control"
    verb = staticmethod(run_now)
    done = "put on their queues"
    state = "scheduled"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--cron", metavar="NAME", help="enqueue this entry of RQ's cron now, beside its schedule")

    def change(self, options: Namespace) -> dict[str, Any]:
        if options.cron is None:
            return super().change(options)
        if options.jobs:
            raise VerbError("name jobs or a cron entry, not both")
        job = run_cron(options.cron, queue=options.queue or "", actor=self.actor, reason=options.reason)
        return {"verb": "run_now", "cron": options.cron, "job": job}

    def render(self, result: dict[str, Any]) -> str:
        if "cron" in result:
            return f"{one_line(result['cron'])} enqueued as {one_line(result['job'])}"
        return super().render(result)
