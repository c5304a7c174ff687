"""What the verbs over jobs share: which jobs, at what pace, here or in the background."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any, ClassVar

from queueops.management.base import VerbError, duration
from queueops.management.verbs._changes import ChangeVerb, bulk, bulk_text, rate
from queueops.operations import BulkResult, Selection
from queueops.operations.steps import FITS
from queueops.telemetry.job_pages import JobFilter

FILTERS = ("function", "error", "text", "tag", "older", "younger")


class JobsVerb(ChangeVerb):
    """A verb over jobs: named by id, or all of one state that a filter matches."""

    verb: ClassVar[Callable[..., BulkResult]]
    done: ClassVar[str]
    """The participle, for the report."""
    state: ClassVar[str | None]
    """The list that filters are about without ``--state``; None: it must be said."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        fits = FITS[self.name.replace("-", "_")]
        parser.epilog = (
            "Name jobs by id, or give filters: a filter means all jobs of one state that match, oldest first, each at "
            "most once. The report adds up: done, skipped (with reasons), gone. An interrupted batch is finished by "
            "the monitor; Ctrl-C stops it."
        )
        parser.add_argument("jobs", nargs="*", metavar="JOB", help="ids")
        default = f" (default: {self.state})" if self.state else ""
        parser.add_argument("--state", choices=fits, help=f"the list that filters are about{default}")
        parser.add_argument("--queue", metavar="Q", help="jobs of this queue")
        parser.add_argument("--function", default="", metavar="F", help="… whose function contains this")
        parser.add_argument("--error", default="", metavar="E", help="… with this fingerprint, or this in the error")
        parser.add_argument("--text", default="", metavar="TEXT", help="… with this in their arguments")
        parser.add_argument("--tag", default="", metavar="TAG", help="… with this tag")
        parser.add_argument("--older", type=duration, default=0.0, metavar="TIME", help="… for longer than 2h")
        parser.add_argument("--younger", type=duration, default=0.0, metavar="TIME", help="… for less than 2h")
        parser.add_argument("--all", action="store_true", dest="everything", help="all of that list")
        parser.add_argument("--rate", type=rate, metavar="N", help="at most N jobs per second")
        parser.add_argument("--background", action="store_true", help="leave the work to the monitor")

    def selection(self, options: Namespace) -> Selection:
        """What was chosen."""
        filters = {name: getattr(options, name) for name in FILTERS if getattr(options, name)}
        chosen = bool(filters) or options.queue is not None or options.everything
        if options.jobs:
            if chosen or options.state:
                raise VerbError("Name jobs or give a filter, not both.")
            return Selection(job_ids=tuple(dict.fromkeys(options.jobs)))
        if options.everything and (filters or options.queue is not None):
            raise VerbError("--all takes no filter")
        state = options.state or self.state
        if not chosen:
            raise VerbError(
                "Name the jobs, or give a filter such as --queue Q or --function F; --all means all of a list"
            )
        if state is None:
            raise VerbError(f"say which list the filter is about: --state {'|'.join(FITS[self.name])}")
        return self.by_filter(state, options, filters)

    def by_filter(self, state: str, options: Namespace, filters: dict[str, Any]) -> Selection:
        """The jobs of a state that filters match."""
        return Selection(where=JobFilter(state, options.queue, **filters))

    def change(self, options: Namespace) -> dict[str, Any]:
        selection = self.selection(options)
        with self.progress(self.done) as progress:
            result = type(self).verb(
                selection,
                rate=options.rate,
                actor=self.actor,
                reason=options.reason,
                background=options.background,
                progress=progress,
            )
        answer = bulk(self, result, named=bool(options.jobs))
        self.ok = self.ok or options.background
        return answer

    def render(self, result: dict[str, Any]) -> str:
        return bulk_text(result, self.done)


class QuarantineVerb(JobsVerb):
    """A verb that is about quarantined jobs unless told otherwise: their SQL copies survive an emptied Redis."""

    state = "quarantined"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--reason-like", default="", metavar="TEXT", help="… with this in the reason of quarantine")

    def selection(self, options: Namespace) -> Selection:
        if options.reason_like and not options.jobs and (options.state or self.state) == self.state:
            return self.copies(options, {})
        return super().selection(options)

    def by_filter(self, state: str, options: Namespace, filters: dict[str, Any]) -> Selection:
        others = set(filters) - {"function", "error"}
        return super().by_filter(state, options, filters) if options.state or others else self.copies(options, filters)

    def copies(self, options: Namespace, filters: dict[str, Any]) -> Selection:
        """By the SQL copies: names are exact there."""
        return Selection(
            queue=options.queue or "",
            function=options.function,
            reason_like=options.reason_like,
            fingerprint=options.error,
            everything=options.everything,
        )
