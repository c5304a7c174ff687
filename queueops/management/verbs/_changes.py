"""What the verbs that change something share."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from queueops.diagnosis.wording import written
from queueops.management.base import BaseVerb, VerbError, duration, one_line
from queueops.operations import Change, OperationError


def rate(text: str) -> float:
    """Argument type: jobs per second."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number of jobs per second") from None
    if not 0 < value <= 100_000:
        raise ArgumentTypeError(f"{text!r}: a rate is more than 0 and at most 100000 jobs per second")
    return value


def add_for(parser: ArgumentParser) -> None:
    """``--for 30m``."""
    parser.add_argument("--for", dest="seconds", type=duration, metavar="TIME", help="end by itself after 30m, 2h …")


def iso(moment: Any) -> str | None:
    """A moment for JSON."""
    return moment.isoformat() if moment else None


class ChangeVerb(BaseVerb):
    """Turns a refused operation into one line and a status; a result with ``ok`` false ends with status 1."""

    changes = True

    def handle(self, options: Namespace) -> dict[str, Any] | None:
        try:
            return self.change(options)
        except OperationError as error:
            raise VerbError(str(error)) from error

    def change(self, options: Namespace) -> dict[str, Any]:
        """Make the change."""
        raise NotImplementedError

    def run(self, options: Namespace) -> None:
        self.ok = True
        super().run(options)
        if not self.ok:
            sys.exit(1)


def behind(verb: ChangeVerb, change: Change) -> dict[str, Any]:
    """Servers that a change has not reached make the status 1: whoever goes on must know that it is not everywhere."""
    verb.ok = verb.ok and not change.behind
    return {"behind": list(change.behind)}


def behind_text(result: dict[str, Any]) -> str:
    """The end of the sentence about a change that is not everywhere."""
    if not result["behind"]:
        return ""
    return f"; not yet on the server of {', '.join(result['behind'])}, which does not answer: the monitor sees to it"


def until(result: dict[str, Any]) -> str:
    """How long it lasts, for the sentence."""
    return f" until {written(result['until'])}" if result.get("until") else " until somebody lifts it"


def bulk(verb: ChangeVerb, result: Any, named: bool) -> dict[str, Any]:
    """The report of a bulk verb. Jobs that were named and not done make the status 1."""
    verb.ok = result.left == 0 and not (named and result.done < result.total)
    return {
        "verb": result.verb,
        "total": result.total,
        "done": result.done,
        "skipped": result.skipped,
        "gone": result.gone,
        "left": result.left,
        "reasons": result.reasons,
        "jobs": [{"job": job, "outcome": outcome, "detail": text} for job, outcome, text in result.outcomes],
        "batch": result.batch.pk,
        "intervention": result.intervention.pk,
    }


def bulk_text(result: dict[str, Any], word: str) -> str:
    """The same for a person; it adds up."""
    if not result["total"]:
        return f"nothing {word}: no job matches"
    lines = [f"{result['done']} of {result['total']} {word}"]
    lines[0] += f", {result['skipped']} skipped, {result['gone']} gone"
    lines[0] += f", {result['left']} left" if result["left"] else ""
    lines += [f"  {count} skipped: {one_line(why)}" for why, count in result["reasons"].items()]
    shown = [job for job in result["jobs"] if result["total"] <= 20 or job["outcome"] == "gone"]
    for job in shown[:20]:
        lines.append(
            f"  {one_line(job['job'])}: {job['outcome']}" + (f", {one_line(job['detail'])}" * bool(job["detail"]))
        )
    return "\n".join(lines)
