"""``queueops explain JOB``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import BaseVerb, VerbError, one_line
from queueops.operations import explain


class Verb(BaseVerb):
    name = "explain"
    help = "say why a job is not running"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", metavar="JOB")

    def handle(self, options: Namespace) -> dict[str, Any]:
        found = explain(options.job)
        if found.state == "unknown" and not found.facts:
            raise VerbError(f"job {options.job}: {found.sentence}")
        return found.as_dict()

    def render(self, result: dict[str, Any]) -> str:
        lines = [f"{one_line(result['job_id'])} is {result['state']}. {one_line(result['sentence'])}"]
        return "\n".join(lines + [f"  {fact['label']}: {one_line(fact['text'])}" for fact in result["facts"]])
