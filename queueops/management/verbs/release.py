"""``queueops release``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb
from queueops.operations import release


class Verb(ChangeVerb):
    name = "release"
    help = "take holders off a control by force; their jobs go on running, and waiters are let in"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("control", metavar="CONTROL", help="s3-upload, or semaphore:s3-upload")
        parser.add_argument("--key", default="", metavar="K")
        group = parser.add_mutually_exclusive_group(required=True)
        group.add_argument("--token", metavar="T", help="the holder's token, or its first 8 characters or more")
        group.add_argument("--all", action="store_true", dest="everything")

    def change(self, options: Namespace) -> dict[str, Any]:
        done = release(
            options.control,
            options.key,
            token=options.token,
            all=options.everything,
            actor=self.actor,
            reason=options.reason,
        )
        return {
            "control": done.intervention.target,
            "released": [{"token": token[:8], "job": job, "worker": worker} for token, job, worker in done.holders],
            "left": done.left,
            "intervention": done.intervention.pk,
        }

    def render(self, result: dict[str, Any]) -> str:
        lines = [f"{one_line(result['control'])}: {len(result['released'])} released, {result['left']} still hold it"]
        for held in result["released"][:20]:
            whose = f"job {one_line(held['job'])} on {one_line(held['worker'])}" if held["job"] else "no known job"
            lines.append(f"  {held['token']}: {whose}")
        return "\n".join(lines)
