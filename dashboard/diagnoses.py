"""Hypotheses about a late queue in the viewer's language: what speaks for and against each, and where to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from dashboard.selectors.diagnosis import Explained
from dashboard.selectors.snapshot_data import QueueRow
from dashboard.templatetags.qo import link
from queueops.diagnosis.patterns import Card, Evidence
from queueops.rdb.keys import split_instance


@dataclass(frozen=True, slots=True)
class Told:
    """One hypothesis: ``check`` says what to look at, ``href`` where, under the name ``place``."""

    title: str
    supports: tuple[str, ...]
    opposes: tuple[str, ...]
    disproof: str
    check: str
    place: str
    href: str


def words(found: Explained) -> tuple[Told, ...]:
    """Its hypotheses in words, the heaviest first."""
    return tuple(_told(card, found.row) for card in found.cards)


def _told(card: Card, row: QueueRow) -> Told:
    title, disproof, check, place, href = PATTERNS[card.kind or card.pattern](card, row)
    supports, opposes = (tuple(map(_sentence, told)) for told in (card.supports, card.opposes))
    return Told(title, supports, opposes, disproof, check, place, href)


Words = tuple[str, str, str, str, str]
"""Title, what would disprove it, what to check, the name of that place and its address."""


def _inflow(card: Card, row: QueueRow) -> Words:
    check = _("When did inflow begin to exceed completions?")
    if card.about:
        check = _("When did inflow begin to exceed completions? Most comes from %(function)s.") % {
            "function": wording.named(card.about)
        }
    return (
        _("Perhaps: more comes in than is completed"),
        _("Inflow falls to its usual pace, and the backlog still grows."),
        check,
        _("Flow of the queue"),
        link("flow", queue=row.name),
    )


def _paused(_card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: nothing runs because the queue is paused"),
        _("The pause is lifted, and still nothing is completed."),
        _("Who paused it, why, and until when?"),
        _("The queue"),
        link("queues", name=row.name),
    )


def _blocked(card: Card, row: QueueRow) -> Words:
    kind, name, _key = split_instance(card.about)
    shown = {"name": wording.named(name)}
    if kind == "pause":
        return (
            _("Perhaps: its jobs wait because the function %(name)s is paused") % shown,
            _("The pause is lifted, and still nothing is completed."),
            _("Who paused the function, and may it run again?"),
            _("Functions of the queue"),
            link("queues", name=row.name),
        )
    return (
        _("Perhaps: its jobs wait for %(name)s") % shown,
        _("%(name)s has room, and its waiters still do not start.") % shown,
        _("Who holds it, since when, and is an owner gone?"),
        _("Locks of the control"),
        link("locks", control=card.about, server=row.server),
    )


def _silent(_card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: its workers went silent"),
        _("One of them gives a sign of life, and still nothing is completed."),
        _("When did they go silent, and on which host?"),
        _("Silent workers"),
        link("workers", queue=row.name, state="silent"),
    )


def _nobody(_card: Card, _row: QueueRow) -> Words:
    return (
        _("Perhaps: no worker serves this queue"),
        _("A worker that names this queue is alive."),
        _("Which queues do the workers name?"),
        _("Workers"),
        link("workers"),
    )


def _stuck(_card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: its workers are stuck in their runs"),
        _("These runs end by themselves, and are no longer than usual."),
        _("What do they run, and since when?"),
        _("Busy workers"),
        link("workers", queue=row.name, state="busy"),
    )


def _idle(_card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: its workers wait and take nothing"),
        _("One of them starts a job of this queue."),
        _("Why does the oldest job not run? Its page says what each door answers."),
        _("Waiting jobs"),
        link("jobs", queue=row.name, state="parked" if row.parked > row.waiting / 2 else "queued"),
    )


def _slow(card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: %(function)s takes longer than usual") % {"function": wording.named(card.about)},
        _("Its runs are as short as usual again, and the backlog still grows."),
        _("Since when are its runs longer, and what does it wait for? More workers may make that worse."),
        _("Times of the function"),
        link("function", queue=row.name, name=card.about),
    )


def _slow_outside(card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: %(function)s waits for something outside") % {"function": wording.named(card.about)},
        _("The outside service answers as usual again, and the runs stay long."),
        _("Is that service in trouble? More workers would ask it more, and may make it worse."),
        _("Times of the function"),
        link("function", queue=row.name, name=card.about),
    )


def _failing(card: Card, row: QueueRow) -> Words:
    place, href = _("Changelog of the function"), link("changelog", queue=row.name, function=card.about)
    if row.failed:
        place, href = (
            _("Failed jobs of the function"),
            link("jobs", state="failed", queue=row.name, function=card.about),
        )
    elif row.quarantined:
        place, href = _("Quarantine of the function"), link("quarantine", queue=row.name, function=card.about)
    return (
        _("Perhaps: attempts of %(function)s fail again and again") % {"function": wording.named(card.about)},
        _("Attempts succeed again, and the backlog still grows."),
        _("Is it one error, and since when?"),
        place,
        href,
    )


def _starved(_card: Card, row: QueueRow) -> Words:
    return (
        _("Perhaps: its workers are busy with other queues"),
        _("A worker of this queue is idle while jobs wait."),
        _("Which queues do these workers serve, and in which order?"),
        _("Workers of the queue"),
        link("workers", queue=row.name),
    )


PATTERNS: Mapping[str, Callable[[Card, QueueRow], Words]] = {
    "inflow": _inflow,
    "paused": _paused,
    "blocked": _blocked,
    "silent": _silent,
    "nobody": _nobody,
    "stuck": _stuck,
    "idle": _idle,
    "slow": _slow,
    "slow_outside": _slow_outside,
    "failing": _failing,
    "starved": _starved,
}


def _sentence(evidence: Evidence) -> str:
    return SENTENCES[evidence.what](evidence.facts)


Facts = Mapping[str, Any]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _rates(facts: Facts) -> dict[str, str]:
    return {"now": wording.rate(facts["now"]), "usual": wording.rate(facts["usual"])}


def _exceeds(facts: Facts) -> str:
    return _("%(in)s/min came in against %(out)s/min completed; more came in during %(share)s %% of the minutes.") % {
        "in": wording.rate(facts["inflow"]),
        "out": wording.rate(facts["completed"]),
        "share": _percent(facts["share"]),
    }


def _inflow_up(facts: Facts) -> str:
    return _("Inflow is above its usual: %(now)s/min against %(usual)s/min.") % _rates(facts)


def _inflow_usual(facts: Facts) -> str:
    return _("Inflow is as usual: %(now)s/min against %(usual)s/min.") % _rates(facts)


def _completed_down(facts: Facts) -> str:
    return _("Fewer are completed than usual: %(now)s/min against %(usual)s/min.") % _rates(facts)


def _completed_usual(facts: Facts) -> str:
    return _("As many are completed as usual: %(now)s/min against %(usual)s/min.") % _rates(facts)


def _attempts_end(facts: Facts) -> str:
    return _("Runs do end: %(rate)s attempts/min fail.") % {"rate": wording.rate(facts["failed"])}


def _none_complete(facts: Facts) -> str:
    told = {**_rates(facts), "waiting": wording.count(facts["waiting"])}
    if facts["usual"] is None:
        return _("%(now)s/min completed in the last 5 minutes, while %(waiting)s wait.") % told
    return _("%(now)s/min completed in the last 5 minutes, while %(waiting)s wait; usual %(usual)s/min.") % told


def _is_paused(_facts: Facts) -> str:
    return _("The queue is paused.")


def _is_blocked(facts: Facts) -> str:
    name = split_instance(facts["control"])[1]
    told = {"n": wording.count(facts["n"]), "waiting": wording.count(facts["waiting"]), "name": wording.named(name)}
    return _("About %(n)s of the %(waiting)s waiting are parked for %(name)s.") % told


def _are_silent(facts: Facts) -> str:
    text = ngettext(
        "None of its workers is alive; %(n)s is silent.", "None of its workers is alive; %(n)s are silent.", facts["n"]
    )
    return text % {"n": facts["n"]}


def _no_worker(_facts: Facts) -> str:
    return _("No worker that serves it is known.")


def _busy(facts: Facts) -> str:
    text = ngettext("%(n)s of its workers is busy", "%(n)s of its workers are busy", facts["busy"])
    told = text % {"n": facts["busy"]}
    if facts["age"] is None:
        return _("%(workers)s.") % {"workers": told}
    return _("%(workers)s; the longest run lasts %(age)s.") % {"workers": told, "age": wording.age(facts["age"])}


def _busy_elsewhere(facts: Facts) -> str:
    return _("Its workers spent most of their time on the queue %(queue)s.") % {"queue": wording.named(facts["queue"])}


def _are_idle(facts: Facts) -> str:
    text = ngettext("%(n)s of its workers is idle.", "%(n)s of its workers are idle.", facts["idle"])
    return text % {"n": facts["idle"]}


def _slower(facts: Facts) -> str:
    return _("A run of %(function)s takes %(now)s on average; usual %(usual)s.") % {
        "function": wording.named(facts["function"]),
        "now": wording.fine(facts["now"]),
        "usual": wording.fine(facts["usual"]),
    }


def _dependency_up(facts: Facts) -> str:
    return _("%(name)s answers more slowly than usual: p95 %(now)s against %(usual)s.") % {
        "name": wording.visible(facts["name"]),
        "now": wording.fine(facts["now"]),
        "usual": wording.fine(facts["usual"]),
    }


def _dependencies_usual(facts: Facts) -> str:
    text = ngettext(
        "The %(n)s dependency that is measured answers as usual.",
        "All %(n)s dependencies that are measured answer as usual.",
        facts["n"],
    )
    return text % {"n": facts["n"]}


def _attempts_fail(facts: Facts) -> str:
    return _("%(failed)s of %(attempts)s attempts/min fail; %(part)s %% of these are of %(function)s.") % {
        "failed": wording.rate(facts["failed"]),
        "attempts": wording.rate(facts["attempts"]),
        "part": _percent(facts["part"]),
        "function": wording.named(facts["function"]),
    }


def _spread(facts: Facts) -> str:
    return _("No function stands out: the worst has %(part)s %% of the failed attempts.") % {
        "part": _percent(facts["part"])
    }


def _held(facts: Facts) -> str:
    return _("%(function)s of the queue %(queue)s took %(share)s %% of the time of its workers.") % {
        "function": wording.named(facts["function"]),
        "queue": wording.named(facts["queue"]),
        "share": _percent(facts["share"]),
    }


SENTENCES: Mapping[str, Callable[[Facts], str]] = {
    "exceeds": _exceeds,
    "inflow_up": _inflow_up,
    "inflow_usual": _inflow_usual,
    "completed_down": _completed_down,
    "completed_usual": _completed_usual,
    "attempts_end": _attempts_end,
    "none_complete": _none_complete,
    "paused": _is_paused,
    "blocked": _is_blocked,
    "silent": _are_silent,
    "nobody": _no_worker,
    "busy": _busy,
    "busy_elsewhere": _busy_elsewhere,
    "idle": _are_idle,
    "slower": _slower,
    "dependency_up": _dependency_up,
    "dependencies_usual": _dependencies_usual,
    "attempts_fail": _attempts_fail,
    "spread": _spread,
    "held": _held,
}
