"""``queueops unisolate``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb, behind, behind_text
from queueops.management.verbs.isolate import add_target, target
from queueops.operations import unisolate


class Verb(ChangeVerb):
    name = "unisolate"
    help = "let such jobs run again; those already quarantined stay until they are replayed"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        kind, name = target(options)
        done = unisolate(kind, name, actor=self.actor, reason=options.reason)
        return {
            "unisolated": done.intervention.target,
            "kind": kind,
            "name": name,
            "intervention": done.intervention.pk,
            **behind(self, done),
        }

    def render(self, result: dict[str, Any]) -> str:
        return f"no longer isolated: {one_line(result['unisolated'])}{behind_text(result)}"
