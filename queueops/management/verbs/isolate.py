"""``queueops isolate``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb, add_for, behind, behind_text, iso, until
from queueops.operations import isolate


def add_target(parser: ArgumentParser) -> None:
    """What to isolate."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--function", metavar="F", help="dotted name")
    group.add_argument("--error", metavar="E", help="fingerprint of an error")
    group.add_argument("--key", metavar="CONTROL=KEY", help="e.g. semaphore:s3-upload=eu")


def target(options: Namespace) -> tuple[str, str]:
    """Kind and name."""
    if options.function is not None:
        return "function", options.function
    return ("error", options.error) if options.error is not None else ("key", options.key)


class Verb(ChangeVerb):
    name = "isolate"
    help = "send jobs of a function, with an error or with a key to quarantine instead of running them"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser)
        add_for(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        kind, name = target(options)
        done = isolate(kind, name, actor=self.actor, reason=options.reason, seconds=options.seconds)
        return {
            "isolated": done.intervention.target,
            "kind": kind,
            "name": name,
            "until": iso(done.setting.until),
            "intervention": done.intervention.pk,
            **behind(self, done),
        }

    def render(self, result: dict[str, Any]) -> str:
        return f"isolated {one_line(result['isolated'])}{until(result)}{behind_text(result)}"
