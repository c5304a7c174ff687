"""``queueops mark-deploy``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.base import one_line
from queueops.management.verbs._changes import ChangeVerb
from queueops.operations.deploys import mark_deploy


class Verb(ChangeVerb):
    name = "mark-deploy"
    help = "mark on every chart that something was deployed now"
    changes = False  # the text says why

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", metavar="TEXT", help="what was deployed: a version, a commit, a name")

    def change(self, options: Namespace) -> dict[str, Any]:
        row = mark_deploy(options.text, actor=self.actor)
        return {"text": row.target, "intervention": row.pk}

    def render(self, result: dict[str, Any]) -> str:
        return f"marked: {one_line(result['text'])}"
