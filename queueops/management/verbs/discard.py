"""``queueops discard``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.verbs._changes import ChangeVerb, bulk, bulk_text
from queueops.management.verbs.replay import add_selection, selection
from queueops.operations import discard


class Verb(ChangeVerb):
    name = "discard"
    help = "delete jobs that are not running for good; SQL keeps the copy of quarantined ones"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_selection(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        with self.progress("discarded") as progress:
            done = discard(
                selection(options),
                rate=options.rate,
                actor=self.actor,
                reason=options.reason,
                background=options.background,
                progress=progress,
            )
        answer = bulk(self, done, named=bool(options.jobs))
        self.ok = self.ok or options.background
        return answer

    def render(self, result: dict[str, Any]) -> str:
        return bulk_text(result, "discarded")
