"""``queueops limit``."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb, add_for, behind, behind_text, iso, until
from queueops.operations import limit


def number(text: str) -> int | None:
    """Argument type: a limit, or ``declared``."""
    if text == "declared":
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ArgumentTypeError(f"{text!r} is neither a whole number nor the word declared")
    return int(text)


class Verb(ChangeVerb):
    name = "limit"
    help = "set the live limit of a control; 0 stops it, 'declared' goes back to what the code says"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("control", metavar="CONTROL", help="s3-upload, or semaphore:s3-upload")
        parser.add_argument("n", metavar="N", type=number)
        add_for(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        done = limit(options.control, options.n, actor=self.actor, reason=options.reason, seconds=options.seconds)
        return {
            "control": done.intervention.target,
            "limit": options.n,
            "until": iso(done.setting.until) if options.n is not None else None,
            "declared": done.intervention.before.get("declared"),
            "woken": done.woken,
            "intervention": done.intervention.pk,
            **behind(self, done),
        }

    def render(self, result: dict[str, Any]) -> str:
        if result["limit"] is None:
            return f"{one_line(result['control'])} has its declared limit again{behind_text(result)}"
        declared = f" (declared: {result['declared']})" if result["declared"] is not None else ""
        return f"{one_line(result['control'])} lets {result['limit']} in{declared}{until(result)}{behind_text(result)}"
