"""``queueops quarantine``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.verbs._changes import ChangeVerb, bulk, bulk_text
from queueops.operations import quarantine


class Verb(ChangeVerb):
    name = "quarantine"
    help = "set open jobs aside, so that they do not run until replayed"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("jobs", nargs="+", metavar="JOB")

    def change(self, options: Namespace) -> dict[str, Any]:
        with self.progress("quarantined") as progress:
            done = quarantine(options.jobs, actor=self.actor, reason=options.reason, progress=progress)
        return bulk(self, done, named=True)

    def render(self, result: dict[str, Any]) -> str:
        return bulk_text(result, "quarantined")
