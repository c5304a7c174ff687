"""``queueops requeue``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.verbs._changes import ChangeVerb, bulk, bulk_text
from queueops.operations import requeue


class Verb(ChangeVerb):
    name = "requeue"
    help = "run failed jobs again under their own ids"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("jobs", nargs="+", metavar="JOB")

    def change(self, options: Namespace) -> dict[str, Any]:
        with self.progress("requeued") as progress:
            done = requeue(options.jobs, actor=self.actor, reason=options.reason, progress=progress)
        return bulk(self, done, named=True)

    def render(self, result: dict[str, Any]) -> str:
        return bulk_text(result, "requeued")
