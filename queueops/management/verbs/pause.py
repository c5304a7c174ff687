"""``queueops pause``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb, add_for, behind, behind_text, iso, until
from queueops.operations import pause


def add_target(parser: ArgumentParser) -> None:
    """What to pause or resume."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--queue", metavar="Q")
    group.add_argument("--function", metavar="F", help="dotted name, e.g. shop.tasks.send_mail")
    group.add_argument("--all", action="store_true", dest="everything", help="every queue")


def target(options: Namespace) -> tuple[str, str]:
    """Kind and name."""
    if options.everything:
        return "all", ""
    return ("queue", options.queue) if options.queue is not None else ("function", options.function)


class Verb(ChangeVerb):
    name = "pause"
    help = "start nothing of a queue, of a function or at all; running jobs finish, new ones wait"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser)
        add_for(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        kind, name = target(options)
        done = pause(kind, name, actor=self.actor, reason=options.reason, seconds=options.seconds)
        return {
            "paused": done.intervention.target,
            "kind": kind,
            "name": name,
            "until": iso(done.setting.until),
            "replaced": bool(done.replaced),
            "intervention": done.intervention.pk,
            **behind(self, done),
        }

    def render(self, result: dict[str, Any]) -> str:
        return f"paused {one_line(result['paused'])}{until(result)}{behind_text(result)}"
