"""``queueops replay``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from queueops.management.verbs._changes import ChangeVerb, bulk, bulk_text, rate
from queueops.operations import Selection, replay


def add_selection(parser: ArgumentParser) -> None:
    """Jobs, or a filter over the quarantined ones."""
    parser.add_argument("jobs", nargs="*", metavar="JOB")
    parser.add_argument("--queue", default="", metavar="Q", help="quarantined jobs of this queue")
    parser.add_argument("--function", default="", metavar="F", help="… of this function")
    parser.add_argument("--reason-like", default="", metavar="TEXT", help="… whose reason contains this text")
    parser.add_argument("--error", default="", metavar="E", help="… with this error fingerprint")
    parser.add_argument("--all", action="store_true", dest="everything", help="all quarantined jobs")
    parser.add_argument("--rate", type=rate, metavar="N", help="at most N jobs per second")
    parser.add_argument("--background", action="store_true", help="leave the work to the monitor and return at once")


def selection(options: Namespace) -> Selection:
    """What was chosen."""
    return Selection(
        job_ids=tuple(dict.fromkeys(options.jobs)),
        queue=options.queue,
        function=options.function,
        reason_like=options.reason_like,
        fingerprint=options.error,
        everything=options.everything,
    )


class Verb(ChangeVerb):
    name = "replay"
    help = "run quarantined jobs again under new ids, oldest first"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_selection(parser)

    def change(self, options: Namespace) -> dict[str, Any]:
        with self.progress("replayed") as progress:
            done = replay(
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
        return bulk_text(result, "replayed")
