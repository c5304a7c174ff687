"""The conditions of a recovery, in the viewer's language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import wording
from queueops.diagnosis.recovery import Condition, Recovery


@dataclass(frozen=True, slots=True)
class Told:
    """One condition: ``title`` says what must hold, ``detail`` what is."""

    state: str
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class RecoveryTold:
    """The verdict: ``state`` is recovered, not_yet or unknown; ``told`` counts the conditions."""

    state: str
    told: str
    conditions: tuple[Told, ...]


def words(found: Recovery) -> RecoveryTold:
    """All of it in words."""
    parts = [
        (found.count("holds"), ngettext("%(n)s holds", "%(n)s hold", found.count("holds"))),
        (found.count("fails"), ngettext("%(n)s does not", "%(n)s do not", found.count("fails"))),
        (found.count("unknown"), ngettext("%(n)s is unknown", "%(n)s are unknown", found.count("unknown"))),
    ]
    told = _(", ").join(text % {"n": n} for n, text in parts if n)
    return RecoveryTold(found.state, told, tuple(map(_condition, found.conditions)))


def _condition(condition: Condition) -> Told:
    titles = {
        "exceeds": _("Completions exceed inflow"),
        "count": _("The backlog is falling, or there is none"),
        "age": _("The oldest age is falling, or far inside its target"),
        "failures": _("Failed attempts are at their usual rate"),
        "dependencies": _("What its jobs depend on answers as usual"),
        "inside": _("The oldest age is inside its target"),
        "set_aside": _("Nothing set aside is undecided"),
        "restraints": _("Nothing is held back"),
        "ledger": _("The ledger balances"),
    }
    if condition.state == "unknown":
        detail = _("not enough data of the last minutes")
        if condition.name == "failures" and condition.facts:
            detail = _("nothing is known of what is usual here")
        elif condition.name == "dependencies" and condition.facts.get("name"):
            told = {"name": wording.visible(condition.facts["name"])}
            detail = _("%(name)s was not used in the last 3 minutes") % told
            if not condition.facts["silent"]:
                detail = _("nothing is known of what is usual for %(name)s") % told
    else:
        detail = DETAILS[condition.name](condition.facts)
    return Told(condition.state, titles[condition.name], detail)


Facts = Mapping[str, Any]


def _exceeds(facts: Facts) -> str:
    rates = {"out": wording.rate(facts["completed"]), "in": wording.rate(facts["inflow"])}
    return _("%(out)s against %(in)s/min in the last 3 minutes") % rates


def _count(facts: Facts) -> str:
    text = _("%(before)s → %(now)s in 3 minutes") % {
        "before": wording.count(int(facts["before"] or 0)),
        "now": wording.count(int(facts["now"] or 0)),
    }
    removed = int(facts["removed"] or 0)
    if not removed:
        return text
    gone = ngettext(
        "%(n)s was removed without being run: that is no recovery",
        "%(n)s were removed without being run: that is no recovery",
        removed,
    ) % {"n": wording.count(removed)}
    return f"{text}; {gone}"


def _age(facts: Facts) -> str:
    if facts["now"] is None:
        return _("nothing waits")
    before = wording.age(facts["before"]) if facts["before"] is not None else "?"
    return _("%(before)s → %(now)s in 3 minutes") % {"before": before, "now": wording.age(facts["now"])}


def _failures(facts: Facts) -> str:
    if facts["usual"] is None:
        return _("none failed")
    shares = {"now": f"{100 * (facts['now'] or 0):.1f}", "usual": f"{100 * facts['usual']:.1f}"}
    return _("%(now)s %% of the attempts; usual %(usual)s %%") % shares


def _dependencies(facts: Facts) -> str:
    if not facts["n"]:
        return _("none is measured here")
    if "name" not in facts:
        return ngettext("%(n)s is inside its band", "%(n)s are inside their band", facts["n"]) % {"n": facts["n"]}
    return _("%(name)s: p95 %(now)s; usual %(usual)s") % {
        "name": wording.visible(facts["name"]),
        "now": wording.fine(facts["p95"]),
        "usual": wording.fine(facts["usual"]),
    }


def _inside(facts: Facts) -> str:
    if facts["age"] is None:
        return _("nothing waits")
    return _("%(age)s; target %(target)s") % {"age": wording.age(facts["age"]), "target": wording.age(facts["max_age"])}


def _set_aside(facts: Facts) -> str:
    n = int(facts["n"] or 0)
    return ngettext("%(n)s job in quarantine", "%(n)s jobs in quarantine", n) % {"n": wording.count(n)}


def _restraints(facts: Facts) -> str:
    n = int(facts["n"] or 0)
    text = ngettext("%(n)s pause, limit or isolation in force", "%(n)s pauses, limits or isolations in force", n)
    return text % {"n": n}


def _ledger(facts: Facts) -> str:
    remainder = int(facts["remainder"] or 0)
    if remainder > 0:
        text = ngettext(
            "%(n)s came from producers without queueops", "%(n)s came from producers without queueops", remainder
        )
    elif remainder < 0:
        text = ngettext("%(n)s is gone without a record", "%(n)s are gone without a record", -remainder)
    else:
        return _("what came in, ended or waits, over 10 minutes")
    return text % {"n": wording.count(abs(remainder))}


DETAILS = {
    "exceeds": _exceeds,
    "count": _count,
    "age": _age,
    "failures": _failures,
    "dependencies": _dependencies,
    "inside": _inside,
    "set_aside": _set_aside,
    "restraints": _restraints,
    "ledger": _ledger,
}
