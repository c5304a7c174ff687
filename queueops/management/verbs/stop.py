"""``queueops stop``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import VerbError, one_line
from queueops.management.verbs._changes import ChangeVerb
from queueops.operations import stop_job, stop_worker


class Verb(ChangeVerb):
    name = "stop"
    help = "kill a running job (it fails as stopped), or ask a worker to end after its job"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", nargs="?", metavar="JOB", help="a running job")
        parser.add_argument("--worker", metavar="W", help="instead of a job: a worker, by its full name")

    def change(self, options: Namespace) -> dict[str, Any]:
        if bool(options.job) == bool(options.worker):
            raise VerbError("name what to stop: a JOB, or --worker W")
        if options.job:
            done = stop_job(options.job, actor=self.actor, reason=options.reason)
        else:
            done = stop_worker(options.worker, actor=self.actor, reason=options.reason)
        return {
            "stopped": "job" if options.job else "worker",
            "worker": done.worker,
            "job": done.job or None,
            "intervention": done.intervention.pk,
        }

    def render(self, result: dict[str, Any]) -> str:
        worker, job = one_line(result["worker"]), one_line(result["job"] or "")
        if result["stopped"] == "job":
            return f"told worker {worker} to kill job {job}"
        return f"told worker {worker} to end" + (f" after job {job}" if job else "")
