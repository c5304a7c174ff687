"""``queueops unquiet``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb
from queueops.operations import unquiet


class Verb(ChangeVerb):
    name = "unquiet"
    help = "let a quiet worker start jobs again"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("worker", metavar="WORKER", help="its full name, as on the Workers page")

    def change(self, options: Namespace) -> dict[str, Any]:
        done = unquiet(options.worker, actor=self.actor, reason=options.reason)
        return {"worker": done.worker, "job": done.job or None, "intervention": done.intervention.pk}

    def render(self, result: dict[str, Any]) -> str:
        return f"worker {one_line(result['worker'])} starts jobs again"
