"""``queueops quiet``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb
from queueops.operations import quiet


class Verb(ChangeVerb):
    name = "quiet"
    help = "let a worker finish what it runs and start nothing new"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("worker", metavar="WORKER", help="its full name, as on the Workers page")

    def change(self, options: Namespace) -> dict[str, Any]:
        done = quiet(options.worker, actor=self.actor, reason=options.reason)
        return {"worker": done.worker, "job": done.job or None, "intervention": done.intervention.pk}

    def render(self, result: dict[str, Any]) -> str:
        still = f", it still runs job {one_line(result['job'])}" if result["job"] else ""
        return f"worker {one_line(result['worker'])} is quiet{still}"
