"""``queueops resume``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb, behind, behind_text
from queueops.management.verbs.pause import add_target, target
from queueops.operations import resume


class Verb(ChangeVerb):
    name = "resume"
    help = "lift a pause; --all lifts the pause of everything, not those of single queues and functions"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        kind, name = target(options)
        done = resume(kind, name, actor=self.actor, reason=options.reason)
        return {
            "resumed": done.intervention.target,
            "kind": kind,
            "name": name,
            "let_in": done.woken,
            "still_paused": [str(each) for each in done.notes],
            "intervention": done.intervention.pk,
            **behind(self, done),
        }

    def render(self, result: dict[str, Any]) -> str:
        text = f"resumed {one_line(result['resumed'])}"
        if result["still_paused"]:
            text += "; still paused: " + ", ".join(one_line(each) for each in result["still_paused"])
        return text + behind_text(result)
